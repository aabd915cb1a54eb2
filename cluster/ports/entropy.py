"""The entropy port: identifiers and jitter come from here, so that a simulation can seed them."""

from typing import Protocol


class Entropy(Protocol):
    def bits64(self) -> int:
        """64 random bits, for identifiers."""
        ...

    def fraction(self) -> float:
        """A number in [0, 1), for jitter."""
        ...
