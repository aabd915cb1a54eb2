"""Paths whose parts have slashes: `/topics/shop%2Forders` is the topic `shop/orders`, and nothing below a topic `shop`.

A server unpacks a path before it is routed, and then no one could tell the two apart. So it is unpacked anew, with a
mark in the place of each slash that was packed; what a route finds for its parameters has slashes again. No client can
send the mark: it is half of a surrogate pair, which no UTF-8 unpacks to.
"""

import re
from typing import Any
from urllib.parse import unquote

from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

_MARK = "\udc2f"
_PACKED = re.compile(rb"%2f", re.IGNORECASE)


class KeptSlashes:
    """An ASGI application around one whose routes are `KeptSlashRoute`s."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw_path: bytes = scope.get("raw_path") or b""
            if b"%" in raw_path and _PACKED.search(raw_path):
                scope = {
                    **scope,
                    "path": _MARK.join(unquote(each.decode("latin-1")) for each in _PACKED.split(raw_path)),
                }
        await self._app(scope, receive, send)


class KeptSlashRoute(APIRoute):
    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child_scope = super().matches(scope)
        if match is not Match.NONE and _MARK in scope["path"]:
            parameters: dict[str, Any] = child_scope["path_params"]
            child_scope["path_params"] = {name: _with_slashes(value) for name, value in parameters.items()}
        return match, child_scope


def shown_path(scope: Scope) -> str:
    """For people."""
    path: str = scope["path"]
    return path.replace(_MARK, "%2F")


def _with_slashes(value: object) -> object:
    return value.replace(_MARK, "/") if isinstance(value, str) else value
