"""A promise that is broken is noticed, whichever it is."""

import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.promise import DETAIL_CHARACTERS_MAX, Bounds, BrokenPromiseError, is_taken, peak_bytes

MIB = 1024 * 1024
QUICK = Bounds(processor_seconds_max=0.01)


def target(read: object) -> FuzzTarget:
    return FuzzTarget(read, (ServerError,), lambda: ())  # type: ignore[arg-type]


def refused(error: ServerError) -> FuzzTarget:
    def read(_data: bytes) -> None:
        raise error

    return target(read)


def test_what_is_taken_and_what_is_refused_is_told_apart() -> None:
    assert is_taken(target(lambda data: None), b"")
    assert not is_taken(refused(ServerError(ProblemCode.INVALID_FIELD, "wrong")), b"")


def test_an_exception_that_nobody_documents_goes_on() -> None:
    def read(_data: bytes) -> None:
        raise KeyError("name")

    with pytest.raises(KeyError):
        is_taken(target(read), b"")


@pytest.mark.parametrize(
    "error",
    [
        ServerError(ProblemCode.INTERNAL, "oh"),
        ServerError(ProblemCode.INVALID_FIELD, "x" * (DETAIL_CHARACTERS_MAX + 1)),
    ],
)
def test_a_refusal_that_no_client_can_use_is_a_finding(error: ServerError) -> None:
    with pytest.raises(BrokenPromiseError):
        is_taken(refused(error), b"")


def test_an_input_that_takes_long_is_a_finding() -> None:
    def read(_data: bytes) -> None:
        for _ in range(10_000_000):
            pass

    with pytest.raises(BrokenPromiseError, match="took"):
        is_taken(target(read), b"", QUICK)


def test_an_input_that_takes_much_memory_is_a_finding() -> None:
    def read(_data: bytes) -> None:
        assert b"\1" * (peak_bytes() + 64 * MIB)

    with pytest.raises(BrokenPromiseError, match="MiB"):
        is_taken(target(read), b"", Bounds(processor_seconds_max=60, memory_bytes_max=32 * MIB))
