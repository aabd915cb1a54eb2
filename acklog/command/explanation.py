"""What is said of a message in a group."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explanation:
    """`what` happened, `then` happens by itself, `do` is what one can do."""

    what: str
    then: str
    do: str
