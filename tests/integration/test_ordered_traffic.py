"""Groups that keep an order on a server that is killed; and that those who judge them see a group that keeps none."""

import pytest

from acklog.wire.limits import MAX_ATTEMPTS_DEFAULT
from tests.integration.conftest import ServerMaker
from tests.integration.ordered_consumers import ORDERED_GROUPS, description
from tests.integration.traffic import GROUP, Traffic
from tests.sim.order_checkers import KeysAreInOrder, PartitionsAreInOrder
from tests.sim.owner_checkers import OneOwnerAtATime

pytestmark = [pytest.mark.integration, pytest.mark.asyncio, pytest.mark.xdist_group("ordered-traffic")]

TOPIC = "ordered"
PARTITIONS = 2
SENDS = 200
SENDS_AFTER = 100


async def test_groups_keep_their_order_and_what_shares_is_found_to_keep_none(make_server: ServerMaker) -> None:
    server = make_server().start()
    server.request("PUT", f"/topics/{TOPIC}", {"partitions": PARTITIONS})
    for group in ORDERED_GROUPS:
        answer = server.request("PUT", f"/groups/{group.name}", description(group))
        assert answer.status == 201, answer
    traffic = Traffic(server, TOPIC, partitions=PARTITIONS, ordered_groups=ORDERED_GROUPS)
    async with traffic.running(producers=4, consumers=3):
        await traffic.acknowledged(SENDS)
        server.kill()
        server.start()
        await traffic.acknowledged(traffic.acknowledged_sends + SENDS_AFTER)
    assert await traffic.judge() == []
    for group in ORDERED_GROUPS:
        assert traffic.received(group.name) > SENDS / 2, group
    max_attempts = dict.fromkeys([GROUP, *(group.name for group in ORDERED_GROUPS)], MAX_ATTEMPTS_DEFAULT)
    dead_letter_queues = {(GROUP, TOPIC): f"{TOPIC}.{GROUP}.dlq"}
    for checker in (
        KeysAreInOrder([GROUP], max_attempts=max_attempts, dead_letter_queues=dead_letter_queues),
        PartitionsAreInOrder([GROUP], max_attempts=max_attempts, dead_letter_queues=dead_letter_queues),
        OneOwnerAtATime([GROUP]),
    ):
        assert checker.check(traffic.history), checker
