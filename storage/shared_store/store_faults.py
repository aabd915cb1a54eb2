"""What a coordination store raises, as a part of an answer, and raised again by whoever has asked."""

from cluster.ports.coordination import (
    CompactedError,
    CoordinationError,
    CoordinationFullError,
    CoordinationUnavailableError,
    LeaseLostError,
    OutcomeUnknownError,
)
from storage.rpc.coordination_messages import StoreFault

_COMPACTED, _MALFORMED = "compacted", "malformed"
# The more special ones come first.
_KINDS: dict[str, type[CoordinationError]] = {
    "full": CoordinationFullError,
    "unavailable": CoordinationUnavailableError,
    "unknown": OutcomeUnknownError,
    "lease lost": LeaseLostError,
    "failed": CoordinationError,
}


def fault_of(error: CoordinationError | ValueError) -> StoreFault:
    if isinstance(error, CompactedError):
        return StoreFault(_COMPACTED, str(error), error.oldest_revision)
    kind = next((name for name, each in _KINDS.items() if isinstance(error, each)), _MALFORMED)
    return StoreFault(kind, str(error))


def raise_fault(fault: StoreFault | None) -> None:
    """Raises CoordinationError, or ValueError for what was malformed. None: nothing was wrong."""
    if fault is None:
        return
    if fault.kind == _COMPACTED:
        raise CompactedError(fault.oldest_revision)
    if fault.kind == _MALFORMED:
        raise ValueError(fault.text)
    raise _KINDS[fault.kind](fault.text)
