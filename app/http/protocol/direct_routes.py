"""A table of endpoints by method and path, for those that are called without the framework."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from app.http.exchange.routes import Endpoint, EndpointType


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

    def of(self, method: str, path: str) -> DirectRoute | None:
        return self._routes.get((method, path))

    def get(
        self,
        path: str,
        *,
        operation_id: str | None = None,
        tags: list[str | Enum] | None = None,
        include_in_schema: bool = True,
    ) -> Callable[[EndpointType], EndpointType]:
        return self._added("GET", path, operation_id)

    def head(
        self,
        path: str,
        *,
        operation_id: str | None = None,
        tags: list[str | Enum] | None = None,
        include_in_schema: bool = True,
    ) -> Callable[[EndpointType], EndpointType]:
        return self._added("HEAD", path, operation_id)

    def post(
        self,
        path: str,
        *,
        operation_id: str | None = None,
        tags: list[str | Enum] | None = None,
        include_in_schema: bool = True,
    ) -> Callable[[EndpointType], EndpointType]:
        return self._added("POST", path, operation_id)

    def _added(self, method: str, path: str, operation_id: str | None) -> Callable[[EndpointType], EndpointType]:
        def add(endpoint: EndpointType) -> EndpointType:
            if "{" not in path:
                self._routes[method, path] = DirectRoute(path, operation_id, endpoint)
            return endpoint

        return add
