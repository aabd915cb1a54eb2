"""Whoever names new topics and groups all the time gets some, and then TOO_MANY_TOPICS and TOO_MANY_GROUPS."""

import pytest

from tests.integration.conftest import ServerMaker
from tests.integration.hostile.arena import DURATIONS, endure

pytestmark = pytest.mark.integration

HONEST_TOPICS = 50
TOPICS_MAX = 10


@pytest.mark.parametrize("seconds", DURATIONS)
def test_endless_names(make_server: ServerMaker, seconds: float) -> None:
    server = make_server(f"--auto-topics-max={HONEST_TOPICS + TOPICS_MAX}", f"--auto-groups-max={TOPICS_MAX}").start()
    for number in range(HONEST_TOPICS):  # the honest client's own, made by hand
        server.request("PUT", f"/topics/honest-{number}")
    server.request("PUT", "/groups/honest")
    endure(server, "tests.integration.hostile.endless_names", seconds=seconds)
    names = [f"hostile-more-{number}" for number in range(TOPICS_MAX + 1)]
    answers = [server.request("POST", "/messages", {"queue": name, "body": 1}) for name in names]
    assert (answers[-1].status, answers[-1].code) == (409, "TOO_MANY_TOPICS")
    topics = server.request("GET", "/topics?limit=1000").document["topics"]
    assert sum(topic["name"].startswith("hostile") for topic in topics) == TOPICS_MAX
