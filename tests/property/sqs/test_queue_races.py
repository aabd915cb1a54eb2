"""Queues made and deleted by several gateways at once, some of which end in the middle: what is left is one queue, as
one of them wanted it, or none; and whoever comes next can make it and delete it."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from app.auth.principal import ANYONE
from app.sqs.sqs_error import SqsError
from cluster.errors import ServerError
from cluster.model import keys
from tests.support.queue_gateways import EndedError, QueueGateway, QueueGateways, with_gateways

NAME = "orders"
GATEWAYS = 3
ANSWERS = {"done", "ended", "QUEUE_NAME_EXISTS", "QUEUE_DOES_NOT_EXIST", "TOPIC_NOT_FOUND", "CONFLICT"}

CALLS = st.lists(
    st.tuples(
        st.integers(0, GATEWAYS - 1),
        st.sampled_from(["create", "delete", "topic deleted"]),
        st.integers(0, 2),  # whose attributes
    ),
    min_size=1,
    max_size=6,
)
ENDS = st.lists(st.none() | st.tuples(st.integers(1, 5), st.booleans()), min_size=GATEWAYS - 1, max_size=GATEWAYS - 1)
PAUSES = st.lists(st.lists(st.integers(0, 12), max_size=12), min_size=GATEWAYS, max_size=GATEWAYS)


def attributes_of(number: int) -> dict[str, str]:
    """A topic's, a group's and the queue's own."""
    return {
        "MessageRetentionPeriod": str(60 + number),
        "VisibilityTimeout": str(number),
        "MaximumMessageSize": str(1024 + number),
    }


async def call(gateway: QueueGateway, what: str, number: int) -> str:
    try:
        if what == "create":
            await gateway.queues.create(NAME, attributes_of(number), {}, ANYONE)
        elif what == "delete":
            await gateway.queues.delete(NAME, ANYONE)
        else:
            await gateway.gateway.topics.delete(NAME)
    except EndedError:
        return "ended"
    except (SqsError, ServerError) as error:
        return error.code.name
    return "done"


async def left_behind(world: QueueGateways) -> list[str]:
    found: list[str] = []
    for prefix in (keys.TOPICS, keys.GROUPS, keys.SQS_QUEUES):
        found += [item.key for item in (await world.store.list(prefix)).items]
    return found


@given(CALLS, ENDS, PAUSES)
@settings(deadline=None)
def test_what_is_left_is_whole(
    calls: list[tuple[int, str, int]], ends: list[tuple[int, bool] | None], pauses: list[list[int]]
) -> None:
    async def main(world: QueueGateways, gateways: list[QueueGateway]) -> None:
        last = gateways[-1]  # of which nobody ends: it finds what the others leave
        for gateway, turns in zip(gateways, pauses, strict=True):
            gateway.store.pauses = list(turns)
        for gateway, end in zip(gateways, ends, strict=False):
            if end is not None:
                gateway.store.writes_left, gateway.store.is_last_done = end
        answers = await asyncio.gather(*[call(gateways[number], what, whose) for number, what, whose in calls])
        assert set(answers) <= ANSWERS
        last.store.pauses = []
        await look_at(last, {whose for _, what, whose in calls if what == "create"} | {3})
        await last.queues.delete(NAME, ANYONE)
        assert await call(last, "delete", 0) == "QUEUE_DOES_NOT_EXIST"
        assert await left_behind(world) == []

    async def look_at(last: QueueGateway, wanted: set[int]) -> None:
        answer = await call(last, "create", 3)
        shown = await last.queues.attributes(NAME, list(attributes_of(0)), ANYONE)
        assert shown in [attributes_of(number) for number in wanted]
        assert answer == ("done" if shown == attributes_of(3) else "QUEUE_NAME_EXISTS")

    with_gateways(GATEWAYS, main)
