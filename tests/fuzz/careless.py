"""A target that keeps no promise: what is told of one is tried with it. It is not in the table."""

from tests.fuzz.fuzz_target import FuzzTarget


class ExpectedError(ValueError):
    """What it documents."""


def _read(data: bytes) -> None:
    if len(data) > 2:
        raise KeyError("what it does not document")
    raise ExpectedError


TARGET = FuzzTarget(_read, (ExpectedError,), lambda: (b"a",))
