"""Queues made and deleted by several gateways at once, some of which end in the middle: what is left is one queue, as
one of them wanted it, or none; and whoever comes next can make it and delete it."""

import asyncio

from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.auth.principal import ANYONE
from app.sqs.queues.standing_queue import standing_queue
from app.sqs.sqs_error import SqsError
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.values import Topic
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


async def call(gateway: QueueGateway, what: str, number: int, stood: set[str] | None = None) -> str:
    """Adds the topic of a queue that was answered with to what `stood`."""
    try:
        if what == "create":
            queue = await gateway.queues.create(NAME, attributes_of(number), {}, ANYONE)
            if stood is not None:
                stood.add(queue.topic.id)
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


async def nothing_is_left_of_queues_that_are_gone(world: QueueGateways, last: QueueGateway, stood: set[str]) -> None:
    """Else the next queue of that name would have the messages of one that somebody deleted."""
    queue = standing_queue(await last.gateway.queues.find(NAME), last.metadata)
    item = await world.store.get(keys.topic(NAME))
    if queue is None and item is not None:
        assert decode(Topic, item.value).id not in stood


@given(CALLS, ENDS, PAUSES)
@example([(1, "create", 0), (0, "delete", 0)], [None, None], [[7], [], []])  # a claim, completed while it was removed
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
        stood: set[str] = set()
        answers = await asyncio.gather(*[call(gateways[number], what, whose, stood) for number, what, whose in calls])
        assert set(answers) <= ANSWERS
        last.store.pauses = []
        await nothing_is_left_of_queues_that_are_gone(world, last, stood)
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


@given(st.integers(0, 4), st.booleans(), st.booleans())
@settings(deadline=None)
def test_a_deletion_that_ends_in_the_middle_leaves_the_whole_queue_or_no_message_of_it(
    writes: int, is_last_done: bool, is_deleted_next: bool
) -> None:
    async def main(world: QueueGateways, gateways: list[QueueGateway]) -> None:
        first, last = gateways
        stood: set[str] = set()
        assert await call(first, "create", 1, stood) == "done"
        first.store.writes_left, first.store.is_last_done = writes, is_last_done
        await call(first, "delete", 1)
        await nothing_is_left_of_queues_that_are_gone(world, last, stood)
        if is_deleted_next:
            await call(last, "delete", 1)
            assert await left_behind(world) == []
        assert await call(last, "create", 1) == "done"

    with_gateways(2, main)


@given(st.integers(0, 5), st.booleans(), st.booleans())
@settings(deadline=None)
def test_what_was_half_made_is_completed_as_it_was_begun(
    writes: int, is_last_done: bool, has_other_attributes: bool
) -> None:
    async def main(world: QueueGateways, gateways: list[QueueGateway]) -> None:
        first, last = gateways
        first.store.writes_left, first.store.is_last_done = writes, is_last_done
        await call(first, "create", 1)
        is_begun = await world.store.get(keys.sqs_queue(NAME)) is not None
        answer = await call(last, "create", 2 if has_other_attributes else 1)
        assert answer == ("QUEUE_NAME_EXISTS" if is_begun and has_other_attributes else "done")
        expected = attributes_of(1 if is_begun or not has_other_attributes else 2)
        assert await last.queues.attributes(NAME, list(expected), ANYONE) == expected

    with_gateways(2, main)
