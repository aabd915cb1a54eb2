"""One real server for the tests of a module; no JVM."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import acklog
from tests.support.server_process import ServerProcess


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory: Path = tmp_path_factory.mktemp("spark")
    with ServerProcess(directory / "data", directory / "server.log") as process:
        yield process


@pytest.fixture
def client(server: ServerProcess) -> Iterator[acklog.Client]:
    with acklog.Client(server.base_url) as client:
        yield client


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name of the test's own."""
    return str(request.node.name).replace("[", "-").replace("]", "")[:100]
