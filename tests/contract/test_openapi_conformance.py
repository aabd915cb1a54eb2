"""The application does what openapi.yaml says, also when it is asked nonsense."""

from typing import Any

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS
from schemathesis.config import SchemathesisConfig
from starlette.types import ASGIApp, Receive, Scope, Send

from app.configuration.server_settings import Settings
from app.http.application import create_app
from tests.support.memory_gateway import MemoryWorld

EXAMPLES = 5
# `positive_data_acceptance` is left out: a schema cannot say what the server knows, such as a topic's replicas.
# `ignored_auth` is for a server with tokens; the rest follows links, and the document has none.
CHECKED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "missing_required_header",
    "allow_header_conformance",
)
OF_METHODS = ("unsupported_method", "allow_header_conformance")
MEMBERS = "/groups/{group}/members/{member}/"
"""A member's name may have a /, so what is behind one is a member, too, which `PUT` and `DELETE` are for."""
_CONFIG = SchemathesisConfig.from_dict(
    {"checks": {"negative_data_rejection": {"expected-statuses": [400, 404, 405, 406, 409, 413, 415, 422, 503]}}}
)


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


@schemathesis.serializer("application/x-ndjson")
def ndjson_as_it_is(_context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


_app = create_app(MemoryWorld(Settings(request_timeout_ms=1000)).gateway)
schema = schemathesis.openapi.from_asgi("/openapi.json", _without_lifespan(_app), config=_CONFIG)


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_call_conforms(case: Any) -> None:
    if isinstance(case.query, dict):
        case.query.pop("waitSeconds", None)
    left_out = OF_METHODS if case.operation.path.startswith(MEMBERS) else ()
    case.call_and_validate(checks=[CHECKS.get_one(name) for name in CHECKED if name not in left_out])
