"""The server keeps what its own openapi.json promises, for whatever requests the description allows or forbids."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
import yaml
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.config import SchemathesisConfig

from tests.support.server_process import REPOSITORY, ServerProcess

pytestmark = pytest.mark.integration

EXAMPLES = 100 if os.environ.get("ACKLOG_LOG_PROFILE") == "thorough" else 8
WAIT_SECONDS_MAX = 0.05
CONFIGURATION = {
    "checks": {
        # A schema cannot say every rule (an offset or a time; a number as 5, not 5.0), so what it allows may get a 400.
        "positive_data_acceptance": {"enabled": False},
        "negative_data_rejection": {
            "expected-statuses": ["400", "401", "403", "404", "405", "406", "413", "414", "415"]
        },
    }
}
METHODS = ("get", "put", "patch", "post", "delete")
# The checked-in copy names the operations; what is promised is asked from the running server.
PATHS = yaml.safe_load((REPOSITORY / "openapi.yaml").read_text())["paths"]
OPERATIONS = [(path, method) for path, item in PATHS.items() for method in METHODS if method in item]
REQUESTS = [(path, method, GenerationMode.POSITIVE) for path, method in OPERATIONS] + [
    (path, method, GenerationMode.NEGATIVE)
    for path, method in OPERATIONS
    if PATHS[path][method].get("parameters") or "requestBody" in PATHS[path][method]
]


@pytest.fixture(scope="module")
def described_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("openapi")
    without_streams = ("--events-watchers-max", "0", "--tails-max", "0")  # they have no end
    with ServerProcess(directory / "data", directory / "server.log", options=without_streams) as server:
        for number in range(3):
            server.send("orders", number)
        yield server
        assert "Traceback" not in server.output()


@pytest.fixture(scope="module")
def description(described_server: ServerProcess) -> Any:
    return schemathesis.openapi.from_url(
        described_server.base_url + "/openapi.json", config=SchemathesisConfig.from_dict(CONFIGURATION)
    )


def test_the_server_describes_the_same_operations(description: Any) -> None:
    described = [(each.ok().path, each.ok().method) for each in description.get_all_operations()]
    assert sorted(described) == sorted(OPERATIONS)


@pytest.mark.parametrize(("path", "method", "mode"), REQUESTS)
def test_requests_of_every_kind(description: Any, path: str, method: str, mode: GenerationMode) -> None:
    operation = description[path][method]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def send(case: Any) -> None:
        shorten_the_wait(case)
        if path == "/topics/{topic}/restore" and mode is GenerationMode.POSITIVE:
            # What is being restored answers 503 to all other calls, so it is none of the topics that they name.
            case.path_parameters["topic"] = "restored"
        case.call_and_validate(timeout=30)

    send()


def shorten_the_wait(case: Any) -> None:
    """A wait that is allowed is shortened, so that long polls do not take the whole time; others stay as they are."""
    wait = (case.query or {}).get("waitSeconds")
    if isinstance(wait, int | float) and not isinstance(wait, bool) and WAIT_SECONDS_MAX < wait <= 20:
        case.query["waitSeconds"] = WAIT_SECONDS_MAX
