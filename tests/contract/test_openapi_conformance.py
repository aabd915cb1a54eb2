"""The application does what openapi.yaml says, also when it is asked nonsense."""

from typing import Any

from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS

from app.configuration.server_settings import Settings
from tests.support.described_app import OF_ANSWERS, described, without_wait
from tests.support.memory_gateway import MemoryWorld

EXAMPLES = 5
# `positive_data_acceptance` is left out: a schema cannot say what the server knows, such as a topic's replicas.
# `ignored_auth` is for a server with tokens (`test_openapi_rights`); the rest follows links, and the document has none.
CHECKED = (
    *OF_ANSWERS,
    "negative_data_rejection",
    "unsupported_method",
    "missing_required_header",
    "allow_header_conformance",
)
OF_METHODS = ("unsupported_method", "allow_header_conformance")
MEMBERS = "/groups/{group}/members/{member}/"
"""A member's name may have a /, so what is behind one is a member, too, which `PUT` and `DELETE` are for."""

schema = described(
    MemoryWorld(Settings(request_timeout_ms=1000, events_watchers_max=0, tails_max=0)).gateway,  # streams have no end
    {"checks": {"negative_data_rejection": {"expected-statuses": [400, 404, 405, 406, 409, 413, 415, 422, 503]}}},
)


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_call_conforms(case: Any) -> None:
    without_wait(case)
    left_out = OF_METHODS if case.operation.path.startswith(MEMBERS) else ()
    case.call_and_validate(checks=[CHECKS.get_one(name) for name in CHECKED if name not in left_out])
