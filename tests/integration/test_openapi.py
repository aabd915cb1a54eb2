"""The server keeps what its own openapi.json promises, for whatever requests the description allows or forbids."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.integration

EXAMPLES_PER_OPERATION = 25
WAIT_SECONDS_KEPT_BELOW = 0.05


@pytest.fixture(scope="module")
def described_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory: Path = tmp_path_factory.mktemp("openapi")
    with ServerProcess(directory / "data", directory / "server.log") as server:
        yield server
        assert "Traceback" not in server.output()


@pytest.fixture
def description(described_server: ServerProcess) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_url(described_server.base_url + "/openapi.json")


api = schemathesis.pytest.from_fixture("description")


@api.parametrize()
@settings(max_examples=EXAMPLES_PER_OPERATION, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_requests_of_every_kind(case: schemathesis.Case[Any]) -> None:
    shorten_the_wait(case)
    case.call_and_validate(timeout=30)


def shorten_the_wait(case: schemathesis.Case[Any]) -> None:
    """A wait that is allowed is shortened, so that long polls do not take the whole time; others stay as they are."""
    wait = (case.query or {}).get("waitSeconds")
    if isinstance(wait, int | float) and not isinstance(wait, bool) and WAIT_SECONDS_KEPT_BELOW < wait <= 20:
        case.query["waitSeconds"] = WAIT_SECONDS_KEPT_BELOW
