"""What is promised of every input: a result or a documented refusal, soon, and with little memory."""

import resource
import sys
import time
from dataclasses import dataclass

from cluster.errors import ServerError
from tests.fuzz.fuzz_target import FuzzTarget

DETAIL_CHARACTERS_MAX = 2_000


class BrokenPromiseError(AssertionError):
    """The input took too long or too much, or was refused in a way that nobody documents."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """`processor_seconds_max` is of this process alone: what else runs on the machine does not count."""

    processor_seconds_max: float = 1.0
    memory_bytes_max: int = 256 * 1024 * 1024


BOUNDS = Bounds()


def is_taken(target: FuzzTarget, data: bytes, bounds: Bounds = BOUNDS) -> bool:
    """Whether the target took the input; False where it refused it as documented. Raises BrokenPromiseError, and what
    the target raises beside its promise."""
    peak_before = peak_bytes()
    began = time.process_time()
    try:
        target.read(data)
        taken = True
    except target.refuses as refusal:
        _check_refusal(refusal)
        taken = False
    seconds = time.process_time() - began
    if seconds > bounds.processor_seconds_max:
        raise BrokenPromiseError(f"an input of {len(data)} bytes took {seconds:.2f} s")
    grown = peak_bytes() - peak_before
    if grown > bounds.memory_bytes_max:
        raise BrokenPromiseError(f"an input of {len(data)} bytes took {grown >> 20} MiB of memory")
    return taken


def _check_refusal(refusal: Exception) -> None:
    if not isinstance(refusal, ServerError):
        return
    if not 400 <= refusal.code.status < 500:
        raise BrokenPromiseError(f"{refusal.code.name} is not the client's fault") from refusal
    if len(refusal.detail) > DETAIL_CHARACTERS_MAX:
        raise BrokenPromiseError(f"a refusal has {len(refusal.detail)} characters") from refusal


def peak_bytes() -> int:
    """The most memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
