"""The application in memory as its own openapi.yaml describes it, for schemathesis to ask."""

from collections.abc import Mapping
from typing import Any

import schemathesis
from schemathesis.config import SchemathesisConfig
from starlette.types import ASGIApp, Receive, Scope, Send

from app.gateway.dependencies import Gateway
from app.http.application import create_app

OF_ANSWERS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
"""The checks of what is answered, whatever was asked."""


@schemathesis.serializer("application/x-ndjson")
def ndjson_as_it_is(_context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def described(gateway: Gateway, configuration: Mapping[str, Any]) -> Any:
    """The description, from the application that answers."""
    config = SchemathesisConfig.from_dict(dict(configuration))
    return schemathesis.openapi.from_asgi("/openapi.json", _without_lifespan(create_app(gateway)), config=config)


def without_wait(case: Any) -> None:
    """A long poll would take its time."""
    if isinstance(case.query, dict):
        case.query.pop("waitSeconds", None)


def _without_lifespan(app: ASGIApp) -> ASGIApp:
    """The tool opens and closes the application around every request; a real server begins a shutdown once."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        for event in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{event}.complete"})

    return wrapped
