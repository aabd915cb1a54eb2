"""What a node counts of messages that groups did without: by cause, seen from zero on, and never falling."""

from app.processes.node_metrics import NodeCollector
from cluster.model.values import Expired, Group
from tests.support.simulated_node import SimulatedNode, with_node
from tests.unit.storage.node.test_lifetimes import send

LETTERS, LOSSES = "acklog_group_dead_letters", "acklog_group_losses"


def counts(sim: SimulatedNode, family: str, *, names_max: int = 10) -> dict[str, float]:
    """By cause, of the only group."""
    collector = NodeCollector(sim.node, sim.metadata, names_max=names_max)
    [found] = [each for each in collector.collect() if each.name == family]
    assert {(each.labels["topic"], each.labels["group"]) for each in found.samples} <= {("orders", "workers")}
    return {sample.labels["cause"]: sample.value for sample in found.samples}


def test_dead_letters_are_counted_by_their_causes() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group(max_attempts=1, on_expired=Expired.DEAD_LETTER)
        await send(sim, topic, 1, ttl_ms=None)
        got = (await sim.receive(topic, group)).messages
        assert counts(sim, LETTERS) == {"attempts": 0, "expired": 0, "undecodable": 0}
        await sim.settle("nack", topic, group, got, delay_ms=0)
        await sim.clock.sleep(1_000)
        assert counts(sim, LETTERS) == {"attempts": 1, "expired": 0, "undecodable": 0}
        await send(sim, topic, 2)
        await sim.clock.sleep(3_000)
        assert (await sim.receive(topic, group)).messages == []
        await sim.clock.sleep(1_000)
        assert counts(sim, LETTERS) == {"attempts": 1, "expired": 2, "undecodable": 0}

    with_node(main)


def test_a_new_leader_counts_from_zero_and_not_from_what_the_group_has_in_all() -> None:
    """Else each change of leaders would look like so many new letters."""

    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group(max_attempts=1)
        await send(sim, topic, 3, ttl_ms=None)
        await sim.settle("nack", topic, group, (await sim.receive(topic, group)).messages, delay_ms=0)
        await sim.clock.sleep(1_000)
        assert counts(sim, LETTERS)["attempts"] == 3
        await sim.lose_power()
        await sim.start()
        assert (await sim.positions(topic)).groups[0].dead_lettered == 3
        assert counts(sim, LETTERS)["attempts"] == 0

    with_node(main)


def test_what_retention_takes_is_counted_and_what_goes_on_purpose_is_told_apart() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(retention_ms=60_000, segment_bytes=500)
        group = await sim.group()
        for number in range(10):
            await sim.send(topic, b"%d" % number * 100)
        await sim.receive(topic, group, max_messages=1)
        assert counts(sim, LOSSES) == {"retention": 0, "deleted": 0}
        await sim.clock.sleep(70_000)
        await sim.send(topic, b"new")
        await sim.clock.sleep(1_000)
        assert counts(sim, LOSSES) == {"retention": 10, "deleted": 0}
        position = (await sim.positions(topic)).groups[0]
        assert (position.lost, position.deleted) == (10, 0)

    with_node(main)


def letters(collector: NodeCollector) -> dict[tuple[str, str], float]:
    """By topic and group, those whose attempts were used up."""
    [found] = [each for each in collector.collect() if each.name == LETTERS]
    attempts = [sample for sample in found.samples if sample.labels["cause"] == "attempts"]
    return {(sample.labels["topic"], sample.labels["group"]): sample.value for sample in attempts}


def test_who_gets_the_place_of_a_group_that_is_gone_begins_at_zero_and_other_does_not_fall() -> None:
    """Either would look like so many new letters."""

    async def main(sim: SimulatedNode) -> None:
        topic, early = await sim.topic(), await sim.group("early", max_attempts=1)
        late = await sim.group("late", max_attempts=1)
        collector = NodeCollector(sim.node, sim.metadata, names_max=1)

        async def dies(group: Group) -> None:
            await send(sim, topic, 1, ttl_ms=None)
            await sim.settle("nack", topic, group, (await sim.receive(topic, group)).messages, delay_ms=0)
            await sim.clock.sleep(1_000)

        await dies(early)
        assert letters(collector) == {("orders", "early"): 1}
        await sim.receive(topic, late, max_messages=1)
        await dies(late)
        before = letters(collector)[("orders", "other")]
        assert before > 0
        await sim.groups.delete("early")
        await sim.clock.sleep(1_000)
        letters(collector)
        found = letters(collector)
        assert ("orders", "early") not in found
        assert (found[("orders", "late")], found[("orders", "other")]) == (0, before)
        await dies(late)
        found = letters(collector)
        assert found[("orders", "late")] > 0
        assert found[("orders", "other")] == before
        await sim.topics.delete("orders")
        await sim.clock.sleep(1_000)
        for _ in range(3):
            found = letters(collector)
        assert set(found) == {("orders", "other")}, "what is deleted takes no place again"

    with_node(main)
