"""The short ways of the API's hot calls, by method and path."""

from collections.abc import Callable

from app.calls.settle import SettleCommand
from app.http.audit.refusal_watch import RefusalWatch
from app.http.exchange.http_services import HttpServices
from app.http.parsing.settle import parse_ack, parse_extend, parse_nack
from app.http.protocol.direct_routes import DirectRoutes
from app.http.protocol.drawn_way import DrawnWay
from app.http.protocol.draws import Draws
from app.http.protocol.short_calls import CallRoute, ShortCalls
from app.http.protocol.short_receives import ShortReceives
from app.http.protocol.short_sends import ShortSends
from app.http.protocol.short_settlements import ShortSettlements
from app.http.protocol.short_way import ShortWay
from app.http.protocol.single_sends import SingleSends
from app.http.protocol.traced_application import OPERATIONS

Ways = dict[tuple[bytes, bytes], ShortWay]
_SETTLEMENTS: dict[str, Callable[[bytes], SettleCommand]] = {
    "/ack": parse_ack,
    "/nack": parse_nack,
    "/extend": parse_extend,
}


def short_ways_of(services: HttpServices, routes: DirectRoutes) -> Ways:
    """`routes` are those of the same calls in the application."""
    calls = ShortCalls(services, RefusalWatch(services).answered)

    def route_of(method: str, path: str) -> CallRoute:
        return CallRoute(method, path, routes.of(method, path))

    ways: Ways = {
        (b"POST", b"/messages"): ShortSends(services, calls, route_of("POST", "/messages"), SingleSends(services)),
        (b"GET", b"/messages"): ShortReceives(services, calls, route_of("GET", "/messages")),
    }
    for path, parse in _SETTLEMENTS.items():
        ways[b"POST", path.encode()] = ShortSettlements(services, calls, route_of("POST", path), parse)
    return ways


def drawn(ways: Ways, draws: Draws) -> Ways:
    """The same of a server that traces."""
    found: Ways = {}
    for (method, path), way in ways.items():
        operation, _ = OPERATIONS[method.decode(), path.decode()]
        found[method, path] = DrawnWay(way, operation, draws)
    return found
