"""Connections without a word cannot take the descriptors that the log needs."""

import pytest

from tests.integration.conftest import ServerMaker
from tests.integration.hostile.arena import DURATIONS, endure

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("seconds", DURATIONS)
@pytest.mark.parametrize(
    "limits",
    [
        pytest.param((1024, 1024), id="no more to have"),
        pytest.param((1024, 4096), id="more to have", marks=pytest.mark.hostile),
    ],
)
def test_idle_connections(make_server: ServerMaker, seconds: float, limits: tuple[int, int]) -> None:
    server = make_server(descriptors=limits).start()
    endure(server, "tests.integration.hostile.idle_connections", seconds=seconds)
    assert server.request("PUT", "/topics/later", {"partitions": 64}).status == 201
