"""The application does what openapi.yaml says, also when it is asked nonsense."""

from typing import Any

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS

from app.app import create_app
from app.settings import Settings
from tests.support.memory_gateway import MemoryWorld

EXAMPLES = 25
# `positive_data_acceptance` is left out: a schema cannot say what the server knows, such as a topic's replicas.
# `ignored_auth` is for a server with tokens; `use_after_free` and the like follow links, which the document has none of.
CHECKED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "missing_required_header",
)


_world = MemoryWorld(Settings(request_timeout_ms=1000))
schema = schemathesis.openapi.from_asgi("/openapi.json", create_app(_world.gateway))


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_call_conforms(case: Any) -> None:
    if isinstance(case.query, dict) and "waitSeconds" in case.query:
        case.query = {name: value for name, value in case.query.items() if name != "waitSeconds"}
    case.call_and_validate(checks=[CHECKS.get_one(name) for name in CHECKED])
