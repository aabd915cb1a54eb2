"""A table of endpoints by method and path, for those that are called without the framework."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from app.http.exchange.routes import AddRoute, Endpoint, EndpointType


@dataclass(frozen=True, slots=True)
class DirectRoute:
    """`path` is the label of metrics, `operation_id` is for the audit log."""

    path: str
    operation_id: str | None
    endpoint: Endpoint


class DirectRoutes:
    """`app.http.exchange.routes.Routes`. A path with parameters is not taken up: to find it is the framework's work."""

    def __init__(self) -> None:
        self._routes: dict[tuple[str, str], DirectRoute] = {}
        self.get = self._adder("GET")
        self.head = self._adder("HEAD")
        self.post = self._adder("POST")

    def of(self, method: str, path: str) -> DirectRoute | None:
        return self._routes.get((method, path))

    def _adder(self, method: str) -> AddRoute:
        def route(
            path: str,
            *,
            operation_id: str | None = None,
            tags: list[str | Enum] | None = None,
            include_in_schema: bool = True,
        ) -> Callable[[EndpointType], EndpointType]:
            def add(endpoint: EndpointType) -> EndpointType:
                if "{" not in path:
                    self._routes[method, path] = DirectRoute(path, operation_id, endpoint)
                return endpoint

            return add

        return route
