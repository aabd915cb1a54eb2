"""The short way of a server that traces some requests: those that begin a trace, or are a part of one, are left to the
application."""

from acklog.wire.tracing import TRACEPARENT
from app.http.exchange.caller_refusal import CallerRefusal
from app.http.protocol.draws import Draws
from app.http.protocol.request_head import RequestHead
from app.http.protocol.short_way import ShortRequest, ShortWay

_TRACEPARENT = TRACEPARENT.encode()


class DrawnWay:
    """`app.http.protocol.short_way.ShortWay`."""

    def __init__(self, way: ShortWay, operation: str, draws: Draws) -> None:
        self._way = way
        self._operation = operation
        self._draws = draws

    def takes(self, head: RequestHead) -> ShortRequest | CallerRefusal | None:
        if _TRACEPARENT in head.by_name:
            return None
        taken = self._way.takes(head)
        if not isinstance(taken, ShortRequest) or not self._draws.is_short_drawn(self._operation):
            return taken
        taken.hold.release()
        return None
