"""Tails for which there is no place."""

from typing import Any

from app.configuration.server_settings import Settings
from tests.support.memory_gateway import MemoryWorld


async def test_nothing_is_asked_for_a_tail_that_gets_no_place(serve: Any) -> None:
    """Each would ask the leaders of all partitions, as often as a client comes again."""
    world = MemoryWorld(Settings(tails_max=0))
    await world.topic("orders")
    async with serve(world) as client:
        before = len(world.node.seen)
        answer = await client.get("/topics/orders/tail")
        assert (answer.status_code, answer.json()["code"]) == (429, "TOO_MANY_WATCHERS")
        assert answer.headers["retry-after"] == "5"
        assert len(world.node.seen) == before
        missing = await client.get("/topics/nothing/tail")
        assert (missing.status_code, missing.json()["code"]) == (404, "TOPIC_NOT_FOUND")
