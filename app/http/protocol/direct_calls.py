"""The few calls that matter for speed, without the framework's layers between server and endpoint.

A send spends more time in routing, dependency resolution and nested middleware than in being stored. `DirectCalls`
looks at method and path, and calls the very endpoint that the FastAPI application has for them; failures become the
same problem documents. Everything else goes to the application unchanged, and the application alone can do all of it:
the tests run against both.
"""

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.gateway.metrics import Metrics
from app.http.exchange.observation import ObservedApplication, OnRefused
from app.http.exchange.problems import problem_of

DIRECT = frozenset(
    {
        ("POST", "/messages"),
        ("GET", "/messages"),
        ("POST", "/ack"),
        ("POST", "/nack"),
        ("POST", "/extend"),
    }
)


class DirectCalls:
    """An ASGI application around `app`, whose routes of `DIRECT` it serves itself."""

    def __init__(self, app: FastAPI, metrics: Metrics, on_refused: OnRefused) -> None:
        self._app = app
        self.routes = {
            (method, route.path): route
            for route in app.router.routes
            if isinstance(route, APIRoute)
            for method in route.methods or ()
            if (method, route.path) in DIRECT
        }
        self._observed: ASGIApp = ObservedApplication(self._call, metrics=metrics, on_refused=on_refused)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self.routes.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if route is None:
            await self._app(scope, receive, send)
        else:
            scope["route"] = route
            await self._observed(scope, receive, send)

    async def _call(self, scope: Scope, receive: Receive, send: Send) -> None:
        response: Response
        try:
            response = await scope["route"].endpoint(Request(scope, receive, send))
        except Exception as error:
            response = problem_of(error)
        await response(scope, receive, send)
