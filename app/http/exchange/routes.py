"""What endpoints are given to, be it the framework's router or the table of those that do without it: a port."""

from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import Response

Endpoint = Callable[[Request], Awaitable[Response]]
EndpointType = TypeVar("EndpointType", bound=Endpoint)


class AddRoute(Protocol):
    """A decorator of endpoints, for one method."""

    def __call__(
        self,
        path: str,
        *,
        operation_id: str | None = None,
        tags: list[str | Enum] | None = None,
        include_in_schema: bool = True,
    ) -> Callable[[EndpointType], EndpointType]: ...


class Routes(Protocol):
    """By decorators of a method's name."""

    @property
    def get(self) -> AddRoute: ...

    @property
    def head(self) -> AddRoute: ...

    @property
    def post(self) -> AddRoute: ...
