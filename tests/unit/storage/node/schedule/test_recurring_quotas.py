"""Recurring schedules within the quotas of their topic and its namespace, on one node: what there is no room for is
missed, and dealt with as what is missed otherwise."""

from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from acklog.wire.record import Record
from cluster.catalog.namespace_admin import NamespaceAdmin
from cluster.catalog.recurring_admin import RecurringAdmin
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.namespace import NamespaceSettings
from cluster.model.recurring_schedule import MissedRuns, RecurrenceRule, RecurringSchedule, home_of
from cluster.model.values import NodeRegistration, Topic, TopicConfig
from cluster.ports.coordination import Put
from storage.node.schedule.recurring_host import NAME_HEADER
from storage.quota_use.quota_ask_settings import QuotaAskSettings
from storage.rpc.handshake import NEWEST_VERSION
from storage.rpc.quota_messages import QuotaSharesRequest, QuotaSharesResponse
from storage.schedule.schedule_settings import ScheduleSettings
from tests.support import simulated_node
from tests.support.simulated_node import SimulatedNode

BODY = b"x" * 1_000
SCHEDULES = 10
SECONDS = 40


def with_node(main: Callable[[SimulatedNode], Awaitable[None]]) -> None:
    """As `simulated_node.with_node`, of one that deals quotas out."""

    async def registered(sim: SimulatedNode) -> None:
        registration = NodeRegistration(1, 1, "dir", "here", newest_protocol=NEWEST_VERSION)
        await sim.store.transact([], [Put(keys.node(1), encode(registration))])
        await main(sim)

    simulated_node.with_node(registered)


async def recur(sim: SimulatedNode, topic: Topic, *, missed: MissedRuns = MissedRuns.ONCE) -> None:
    """Schedules that would send ten messages per second together."""
    admin = RecurringAdmin(sim.store, sim.metadata, clock=sim.clock, entropy=sim.entropy)
    for number in range(SCHEDULES):
        name, record = f"tick-{number}", Record(BODY, f"k{number}")

        def make(id_: str, now_ms: int, name: str = name, record: Record = record) -> RecurringSchedule:
            rule = RecurrenceRule(every_ms=1_000, anchor_ms=now_ms)
            home = home_of(name, record, topic)
            return RecurringSchedule(id_, topic.id, name, now_ms, now_ms, home, rule, record, missed=missed)

        await admin.get_or_create(topic, name, make)


async def sent(sim: SimulatedNode, topic: Topic) -> Counter[str]:
    """How many messages each schedule has sent."""
    found: Counter[str] = Counter()
    for partition in range(topic.partitions):
        for record in await sim.records_in_log(topic, partition):
            found[(record.headers or {})[NAME_HEADER]] += 1
    return found


@pytest.mark.parametrize(
    "quotas",
    [{"send_messages_per_second": 2}, {"send_bytes_per_second": 2_000}, {"send_requests_per_second": 2}],
)
@pytest.mark.parametrize("missed", [MissedRuns.ONCE, MissedRuns.ALL])
@pytest.mark.parametrize("partitions", [1, 3])
def test_together_they_send_what_the_quota_of_their_topic_allows(
    quotas: dict[str, int], missed: MissedRuns, partitions: int
) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(partitions=partitions, **quotas)
        await recur(sim, topic, missed=missed)
        await sim.clock.sleep(SECONDS * 1_000)
        found = await sent(sim, topic)
        assert 2 * SECONDS * 0.8 <= found.total() <= 2 * SECONDS * 1.1 + 2
        assert len(found) == SCHEDULES  # none starves

    with_node(main)


@pytest.mark.parametrize(
    "settings",
    [
        NamespaceSettings(messages_per_second=2),
        NamespaceSettings(bytes_per_second=2_000),
        NamespaceSettings(requests_per_second=2),
    ],
)
def test_those_of_all_topics_of_a_namespace_share_its_quota(settings: NamespaceSettings) -> None:
    async def main(sim: SimulatedNode) -> None:
        await NamespaceAdmin(sim.store, sim.metadata, clock=sim.clock, entropy=sim.entropy).get_or_create(
            "shop", settings
        )
        topics = [await sim.topic(f"shop/{name}") for name in ("orders", "invoices")]
        for topic in topics:
            await recur(sim, topic)
        await sim.clock.sleep(SECONDS * 1_000)
        found = [(await sent(sim, topic)).total() for topic in topics]
        assert 2 * SECONDS * 0.8 <= sum(found) <= 2 * SECONDS * 1.1 + 2
        assert min(found) > 0

    with_node(main)


def test_what_finds_no_room_is_passed_over_and_counted() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(send_messages_per_second=2)
        await recur(sim, topic)
        await sim.clock.sleep(SECONDS * 1_000)
        [partition] = sim.node.partitions_led()
        figures = partition.schedule.figures
        assert figures.recurred == (await sent(sim, topic)).total()
        waiting = SCHEDULES * SECONDS - figures.recurred - figures.passed_over
        assert figures.passed_over > 0
        assert 0 <= waiting <= SCHEDULES * SCHEDULES  # each waits for its turn, some seconds

    with_node(main)


def test_a_quota_that_is_taken_away_holds_nothing_up() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(send_messages_per_second=1)
        await recur(sim, topic)
        await sim.clock.sleep(5_000)
        await sim.topics.update("orders", config=TopicConfig())
        await sim.clock.sleep(1_500)
        before = (await sent(sim, topic)).total()
        await sim.clock.sleep(5_000)
        assert (await sent(sim, topic)).total() - before >= 5 * SCHEDULES - SCHEDULES

    with_node(main)


def noted_asks(sim: SimulatedNode) -> list[QuotaSharesRequest]:
    """What the node that deals quotas out is asked from now on."""
    asked: list[QuotaSharesRequest] = []
    answer = sim.node.quota_shares

    async def noted(request: QuotaSharesRequest) -> QuotaSharesResponse:
        asked.append(request)
        return await answer(request)

    sim.node.quota_shares = noted  # type: ignore[method-assign]
    return asked


@pytest.mark.parametrize(
    "quotas",
    [{"send_messages_per_second": 10_000}, {"send_bytes_per_second": 10_000_000}, {"send_requests_per_second": 10_000}],
)
def test_what_is_due_at_once_is_asked_for_at_once(quotas: dict[str, int]) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(**quotas)
        asked = noted_asks(sim)
        await recur(sim, topic)
        await sim.clock.sleep(1_000 + QuotaAskSettings().ask_ms // 2)
        assert (await sent(sim, topic)).total() == SCHEDULES
        wants = [want.units for request in asked for ask in request.asks for want in ask.wants if want.units]
        unit = len(BODY) if "send_bytes_per_second" in quotas else 1
        assert wants == [SCHEDULES * unit]

    with_node(main)


def test_no_more_is_asked_for_than_goes_into_a_batch() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(send_messages_per_second=1, send_bytes_per_second=1_000)
        asked = noted_asks(sim)
        await recur(sim, topic, missed=MissedRuns.ALL)
        await sim.clock.sleep(SECONDS * 1_000)  # some hundred wait
        most = max(want.units for request in asked for ask in request.asks for want in ask.wants)
        tries = 2  # one that is let in, and one that is refused behind it, before the next ask
        owed = len(BODY)
        assert most <= tries * ScheduleSettings().due_messages_max * len(BODY) + owed

    with_node(main)


def test_without_a_quota_nobody_is_asked() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        asked = noted_asks(sim)
        await recur(sim, topic)
        await sim.clock.sleep(3_500)
        assert (await sent(sim, topic)).total() == 3 * SCHEDULES
        assert asked == []

    with_node(main)
