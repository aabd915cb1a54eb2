"""How much of request bodies the process holds, and who holds it.

Bytes count from when they have come, never from when they are promised (rule R38), until the request is answered. What
is still on its way may take a share of the whole only, so that bodies that do not go on cannot keep out those that
come in one piece; and so may each token, so that one client cannot keep out the others.
"""

from types import TracebackType

from acklog.wire.problems import ProblemCode
from app.auth.principal import ANYONE, Principal
from cluster.errors import ServerError

BUSY_RETRY_MS = 1000


class BytesInFlight:
    """`limit_bytes` over all requests. `share_percent` of it is for bodies on their way, and for each token; at least
    `body_bytes_max`, or the largest body could never come."""

    def __init__(self, limit_bytes: int, *, share_percent: int, body_bytes_max: int) -> None:
        self.limit_bytes = limit_bytes
        self.share_bytes = max(limit_bytes * share_percent // 100, min(body_bytes_max, limit_bytes))
        self.held_bytes = 0
        self.arriving_bytes = 0
        self._by_token: dict[str, int] = {}

    def hold(self, principal: Principal) -> "Hold":
        return Hold(self, principal)

    def take(self, more: int, arriving: int, principal: Principal) -> None:
        """`arriving` of the bytes, all or none, belong to a body that is not whole yet. Raises ServerError OVERLOADED,
        and takes nothing then."""
        if self.held_bytes + more > self.limit_bytes:
            raise _busy(f"{self.limit_bytes} bytes of request bodies are being handled already")
        if arriving > 0 and self.arriving_bytes + arriving > self.share_bytes:
            raise _busy(f"{self.share_bytes} bytes of request bodies are on their way already")
        if principal is not ANYONE:
            mine = self._by_token.get(principal.name, 0) + more
            if mine > self.share_bytes:
                raise _busy(f"{self.share_bytes} bytes of this token's request bodies are being handled already")
            self._by_token[principal.name] = mine
        self.held_bytes += more
        self.arriving_bytes += arriving

    def give_back(self, size_bytes: int, arriving: int, principal: Principal) -> None:
        self.held_bytes -= size_bytes
        self.arriving_bytes -= arriving
        if principal is not ANYONE and size_bytes:
            mine = self._by_token[principal.name] - size_bytes
            if mine:
                self._by_token[principal.name] = mine
            else:
                del self._by_token[principal.name]


class Hold:
    """One request's part of the allowance, given back when the `with` block ends."""

    __slots__ = ("_all", "_arriving_bytes", "_is_whole", "principal", "size_bytes")

    def __init__(self, all_bytes: BytesInFlight, principal: Principal) -> None:
        self._all = all_bytes
        self.principal = principal
        self.size_bytes = 0
        self._arriving_bytes = 0
        self._is_whole = False

    def grow_to(self, size_bytes: int) -> None:
        """So much has come. Raises ServerError OVERLOADED; what is held already stays held."""
        more = size_bytes - self.size_bytes
        if more <= 0:
            return
        arriving = 0 if self._is_whole else more
        self._all.take(more, arriving, self.principal)
        self._arriving_bytes += arriving
        self.size_bytes = size_bytes

    def take_whole(self, size_bytes: int) -> None:
        """All has come, and it is so much. Raises as `grow_to`."""
        self._is_whole = True
        if self._arriving_bytes:
            self.completed()
        more = size_bytes - self.size_bytes
        if more > 0:
            self._all.take(more, 0, self.principal)
            self.size_bytes = size_bytes

    def completed(self) -> None:
        """Nothing more will come: the body is not on its way any more."""
        self._is_whole = True
        if self._arriving_bytes:
            self._all.give_back(0, self._arriving_bytes, self.principal)
            self._arriving_bytes = 0

    def __enter__(self) -> "Hold":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """Give it back, for a holder without a `with` block; once is enough and more does no harm."""
        self._all.give_back(self.size_bytes, self._arriving_bytes, self.principal)
        self.size_bytes = self._arriving_bytes = 0


def _busy(detail: str) -> ServerError:
    return ServerError(ProblemCode.OVERLOADED, detail, retry_after_ms=BUSY_RETRY_MS)
