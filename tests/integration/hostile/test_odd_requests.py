"""What is refused costs little, and nothing of it takes effect."""

import pytest

from tests.integration.conftest import ServerMaker
from tests.integration.hostile.arena import DURATIONS, endure

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("seconds", DURATIONS)
def test_odd_requests(make_server: ServerMaker, seconds: float) -> None:
    server = make_server().start()
    endure(server, "tests.integration.hostile.odd_requests", seconds=seconds)
    assert server.request("GET", "/topics/odd").code == "TOPIC_NOT_FOUND"
    assert "Traceback" not in server.output()
