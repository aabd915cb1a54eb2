"""The application of a gateway, as its server runs it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from starlette.types import ASGIApp

from app.gateway.dependencies import Gateway
from app.http.audit.refusal_watch import RefusalWatch
from app.http.exchange.http_services import HttpServices
from app.http.protocol.direct_calls import DirectCalls
from app.http.protocol.direct_routes import DirectRoutes
from app.http.protocol.draws import Draws
from app.http.protocol.front_doors import FrontDoors, MakeFrontDoor
from app.http.protocol.later_application import LaterApplication
from app.http.protocol.limited_protocol import OnPageRefused
from app.http.protocol.short_way import ShortWays
from app.http.protocol.short_ways import drawn, short_ways_of
from app.http.protocol.traced_application import TracedApplication
from app.http.routers.messages import add_messages
from app.http.routers.operations import add_operations
from app.http.routers.settlements import add_settlements

if TYPE_CHECKING:
    from fastapi import FastAPI


def create_app(gateway: Gateway) -> "FastAPI":
    """A gateway's application. Whoever runs it calls `gateway.shutdown.begin()` before it stops listening."""
    return _whole_api(gateway, HttpServices(gateway))


class ServerApplication(NamedTuple):
    """What a server runs: `asgi` is `create_app` with what every server gets served directly; `short_ways` take those
    that need not even that (`app.http.protocol.server_protocol`). `on_connections` is to be told how many are open, and
    `on_page_refused` of what other sites' pages sent."""

    asgi: ASGIApp
    on_connections: Callable[[int], None]
    on_page_refused: OnPageRefused
    short_ways: ShortWays


def create_server_app(gateway: Gateway, front_doors: Sequence[MakeFrontDoor] = ()) -> ServerApplication:
    """`front_doors` are for requests of other protocols than the API's."""
    services = HttpServices(gateway)
    watch = RefusalWatch(services)
    whole = LaterApplication(
        partial(_whole_api, gateway, services),
        in_thread=gateway.in_thread,
        clock=gateway.clock,
        on_end=gateway.shutdown.begin,
    )
    routes = _direct_routes(services)
    asgi: ASGIApp = DirectCalls(whole, routes, services.metrics, watch.answered)
    doors = [make(services) for make in front_doors]
    if doors:
        asgi = FrontDoors(asgi, doors)
    short_ways = short_ways_of(services, routes)
    if gateway.tracer is not None:
        draws = Draws(gateway.tracer)
        asgi = TracedApplication(asgi, gateway.tracer, draws)
        short_ways = drawn(short_ways, draws)
    count = services.metrics.count_connections
    for door in doors:
        short_ways |= door.short_ways
    return ServerApplication(asgi, count, watch.page_refused, short_ways)


def _direct_routes(services: HttpServices) -> DirectRoutes:
    routes = DirectRoutes()
    add_messages(routes, services)
    add_settlements(routes, services)
    add_operations(routes, services)
    return routes


def _whole_api(gateway: Gateway, services: HttpServices) -> "FastAPI":
    from app.http.api import make_api  # it loads the framework: a third of what a server can do without at its start

    return make_api(gateway, services)
