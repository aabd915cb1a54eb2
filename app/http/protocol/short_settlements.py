"""`POST /ack`, `/nack` and `/extend` by the short way."""

from collections.abc import Callable
from functools import partial

from app.calls.settle import SettleCommand
from app.http.answers.settle import settle_response
from app.http.audit.refusal_watch import RefusalWatch
from app.http.exchange.bytes_in_flight import Hold
from app.http.exchange.caller_refusal import CallerRefusal, refusal_of
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request_body import SETTLEMENT_BYTES_MAX
from app.http.protocol.request_head import RequestHead
from app.http.protocol.short_calls import CallRoute, ShortCalls
from app.http.protocol.short_exchange import ShortExchange, ShortOutcome
from app.http.protocol.short_way import ASK_FOR_MORE, Answer, ShortRequest, length_of
from cluster.errors import ServerError
from cluster.model.action import Action


class ShortSettlements:
    """`app.http.protocol.short_way.ShortWay`."""

    def __init__(
        self, services: HttpServices, calls: ShortCalls, route: CallRoute, parse: Callable[[bytes], SettleCommand]
    ) -> None:
        self._services = services
        self._calls = calls
        self._route = route
        self._parse = parse
        self._watch = RefusalWatch(services)

    def takes(self, head: RequestHead) -> ShortRequest | CallerRefusal | None:
        by_name = head.by_name
        if head.query or length_of(by_name, bytes_max=SETTLEMENT_BYTES_MAX) is None:
            return None
        if not ASK_FOR_MORE.isdisjoint(by_name):
            return None
        try:
            principal = self._services.callers.of(head.authorization, head.connection.certificate)
        except ServerError as error:
            return refusal_of(error)
        if not principal.may_somewhere(Action.SETTLE):
            return None
        return ShortRequest(self._services.settlement_bytes.hold(principal), partial(self._begin, head))

    def _begin(self, head: RequestHead, body: bytes, hold: Hold, answer: Answer) -> bool:
        return self._calls.begin(ShortExchange(head, body, hold, answer), self._route, self._settled)

    async def _settled(self, exchange: ShortExchange) -> ShortOutcome:
        settlement = self._parse(exchange.body)
        results = await self._services.settle.settle_all(settlement, exchange.principal)
        if any(results):
            self._watch.in_part(exchange.scope_of(self._route.route), settlement.items, results)
        return ShortOutcome(settle_response(settlement, results))
