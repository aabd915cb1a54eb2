"""What a client is told when the disk port refuses something for now. Neither says anything about durability (R37)."""

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.disk.port import DiskFullError, DiskRefusedError


def refusal_of(error: DiskRefusedError, *, retry_after_ms: int) -> ServerError:
    """STORAGE_FULL or OVERLOADED: both are retriable."""
    if isinstance(error, DiskFullError):
        return ServerError(
            ProblemCode.STORAGE_FULL, "there is no space left on the disk", retry_after_ms=retry_after_ms
        )
    detail = f"the server has no file descriptors or memory to spare: {error.strerror or error}"
    return ServerError(ProblemCode.OVERLOADED, detail, retry_after_ms=retry_after_ms)
