"""A client of the server that the tests of this folder share."""

from collections.abc import Iterator

import pytest

from acklog import Client
from tests.support.server_process import ServerProcess


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Client]:
    with Client(server.base_url) as client:
        yield client
