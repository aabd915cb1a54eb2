"""Exclusive groups on one node: claims, handovers, and who waits for them."""

import asyncio
from collections.abc import Awaitable

import pytest
from msgspec.structs import replace

from acklog.wire.identifiers import parse_receipt
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import Group, GroupMode, GroupSettings, Topic
from storage.rpc.inspect_messages import InspectRequest
from storage.rpc.membership_messages import Ownership
from storage.rpc.messages import (
    CommitRequest,
    CommitResponse,
    DeliveredMessage,
    ReceiveRequest,
    ReceiveResponse,
    SeekRequest,
    SettleItem,
    SettleRequest,
)
from tests.support.simulated_node import SimulatedNode, with_node

SETTINGS = GroupSettings(rebalance_timeout_ms=5_000, retry_backoff_min_ms=1_000, retry_backoff_max_ms=1_000)


async def exclusive_group(sim: SimulatedNode, settings: GroupSettings = SETTINGS) -> Group:
    return await sim.groups.create("exclusive", mode=GroupMode.EXCLUSIVE, settings=settings)


def asked(
    topic: Topic, group: Group, member: str, ownerships: dict[int, int], *, gone_since: int = -1, **fields: int
) -> ReceiveRequest:
    claims = [Ownership(topic.id, number, ownership, gone_since=gone_since) for number, ownership in ownerships.items()]
    request = ReceiveRequest([topic.id], group.id, member, fields.get("max_messages", 10), 1_000_000, claims=claims)
    request.wait_ms = fields.get("wait_ms", 0)
    return request


def bodies(response: ReceiveResponse) -> list[bytes]:
    return [message.record.body for message in response.messages]


async def settle(sim: SimulatedNode, messages: list[DeliveredMessage], action: str = "ack") -> list[str]:
    receipts = [parse_receipt(message.receipt) for message in messages]
    first = receipts[0]
    assert first is not None
    items = [SettleItem(each.offset, each.generation, each.leader_epoch, each.attempt) for each in receipts if each]
    request = SettleRequest(first.topic_id, first.partition, first.group_id, action, items, visibility_ms=30_000)
    return (await sim.node.settle(request)).results


def test_only_claimed_partitions_are_given() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(partitions=2), await exclusive_group(sim)
        await sim.send(topic, b"0", partition=0)
        await sim.send(topic, b"1", partition=1)
        assert bodies(await sim.node.receive(asked(topic, group, "ada", {1: 1}))) == [b"1"]
        assert bodies(await sim.node.receive(asked(topic, group, "bob", {0: 1}))) == [b"0"]

    with_node(main)


def test_claims_and_modes_that_do_not_fit_are_refused() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await exclusive_group(sim)
        shared = await sim.group("shared")
        await sim.send(topic, b"0")
        for request in (asked(topic, group, "ada", {}), asked(topic, shared, "ada", {0: 1})):
            with pytest.raises(ServerError) as refused:
                await sim.node.receive(request)
            assert refused.value.code is ProblemCode.WRONG_GROUP_MODE
        assert bodies(await sim.node.receive(asked(topic, group, "ada", {0: 1}))) == [b"0"]

    with_node(main)


def test_a_claim_waits_for_what_the_owner_before_has_in_hand() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await exclusive_group(sim)
        await sim.send(topic, b"0", b"1")
        had = (await sim.node.receive(asked(topic, group, "ada", {0: 1}))).messages
        assert (await sim.node.receive(asked(topic, group, "bob", {0: 2}))).reason == "REBALANCING"
        waiting = asyncio.create_task(sim.node.receive(asked(topic, group, "bob", {0: 2}, wait_ms=4_000)))
        assert (await sim.node.receive(asked(topic, group, "ada", {0: 1}))).reason == "FENCED"
        assert await settle(sim, had, "extend") == ["RECEIPT_STALE"] * 2
        assert await settle(sim, had[:1]) == [""]
        assert not waiting.done()
        assert await settle(sim, had[1:], "nack") == [""]
        assert bodies(await waiting) == [b"1"]
        assert await settle(sim, had[1:]) == ["RECEIPT_STALE"]
        assert await settle(sim, had[:1]) == [""]  # it is done, whoever says so

    with_node(main)


def test_an_owner_that_is_gone_is_not_waited_for() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await exclusive_group(sim)
        await sim.send(topic, b"0", b"1")
        had = (await sim.node.receive(asked(topic, group, "ada", {0: 1}))).messages
        found = await sim.node.receive(asked(topic, group, "bob", {0: 2}, gone_since=1))
        assert [(each.offset, each.attempt) for each in found.messages] == [(0, 2), (1, 1)]
        assert await settle(sim, had) == ["RECEIPT_STALE"] * 2

    with_node(main)


def test_an_owner_that_does_not_finish_is_waited_for_so_long() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await exclusive_group(sim)
        await sim.send(topic, b"0")
        await sim.node.receive(asked(topic, group, "ada", {0: 1}))
        begun_ms = sim.clock.monotonic_ms()
        assert bodies(await sim.node.receive(asked(topic, group, "bob", {0: 2}, wait_ms=20_000))) == [b"0"]
        assert 5_000 <= sim.clock.monotonic_ms() - begun_ms < 5_100

    with_node(main)


def test_a_run_of_which_nothing_was_settled_holds_the_next_one() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await exclusive_group(sim)
        await sim.send(topic, b"0", b"1", b"2", b"3")
        had = await sim.node.receive(asked(topic, group, "ada", {0: 1}, max_messages=2))
        again = await sim.node.receive(asked(topic, group, "ada", {0: 1}, max_messages=2))
        assert (bodies(had), bodies(again), again.reason) == ([b"0", b"1"], [], "ALL_LEASED")
        assert await settle(sim, had.messages[:1]) == [""]
        assert bodies(await sim.node.receive(asked(topic, group, "ada", {0: 1}))) == [b"2", b"3"]

    with_node(main)


def test_a_member_comes_to_all_its_partitions() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(partitions=3), await exclusive_group(sim)
        for number in range(3):
            await sim.send(topic, *[b"x"] * 40, partition=number)
        counts = {0: 0, 1: 0, 2: 0}
        for _ in range(9):
            found = await sim.node.receive(asked(topic, group, "ada", {0: 1, 1: 1, 2: 1}, max_messages=4))
            await settle(sim, found.messages)
            for message in found.messages:
                counts[message.partition] += 1
        assert counts == {0: 12, 1: 12, 2: 12}

    with_node(main)


def test_who_waits_hears_of_new_messages_in_its_partitions() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(partitions=2), await exclusive_group(sim)
        ada = asyncio.create_task(sim.node.receive(asked(topic, group, "ada", {0: 1}, wait_ms=5_000)))
        bob = asyncio.create_task(sim.node.receive(asked(topic, group, "bob", {1: 1}, wait_ms=5_000)))
        await asyncio.sleep(1)
        assert sim.node.waiting_receives == 2
        await sim.send(topic, b"1", partition=1)
        assert bodies(await bob) == [b"1"]
        assert not ada.done()
        await sim.send(topic, b"0", partition=0)
        assert bodies(await ada) == [b"0"]
        assert sim.node.waiting_receives == 0

    with_node(main)


def test_what_is_given_back_is_waited_for_in_its_place() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await exclusive_group(sim)
        await sim.send(topic, b"0", b"1", b"2")
        had = (await sim.node.receive(asked(topic, group, "ada", {0: 1}))).messages
        request = parse_receipt(had[1].receipt)
        assert request is not None
        item = SettleItem(request.offset, request.generation, request.leader_epoch, request.attempt)
        await sim.node.settle(SettleRequest(topic.id, 0, group.id, "nack", [item], delay_ms=2_000))
        assert (await sim.node.receive(asked(topic, group, "ada", {0: 1}))).reason == "ALL_LEASED"
        await settle(sim, had[:1])
        assert (await sim.node.receive(asked(topic, group, "ada", {0: 1}))).reason == "DELAYED"
        found = await sim.node.receive(asked(topic, group, "ada", {0: 1}, wait_ms=5_000))
        assert [(each.offset, each.attempt) for each in found.messages] == [(1, 2), (2, 1)]

    with_node(main)


async def send_with_damage(sim: SimulatedNode, topic: Topic) -> None:
    """The message 0, a batch of two that cannot be read, and the message 3."""
    await sim.send(topic, b"0")
    await sim.send(topic, b"x" * 50, b"x" * 50)
    await sim.send(topic, b"3")
    await sim.stop()
    segment = f"partitions/{topic.id}-0/{0:020d}.log"
    sim.disk.bit_rot(segment, sim.disk.files()[segment].index(b"x" * 50), 3)
    sim.disk.misses_cache = lambda _: True
    await sim.start()


def test_a_message_that_cannot_be_read_stops_its_partition() -> None:
    """It may be repaired, and would come behind others then."""

    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await exclusive_group(sim)
        await send_with_damage(sim, topic)
        claimed = {0: 1}
        before = await sim.node.receive(asked(topic, group, "ada", claimed))
        assert bodies(before) == [b"0"]
        await settle(sim, before.messages)
        for attempt in range(2):
            assert await code_of(sim.node.receive(asked(topic, group, "ada", claimed))) is ProblemCode.RECORDS_CORRUPT
            held = await sim.node.receive(asked(topic, group, "ada", claimed, wait_ms=SETTINGS.visibility_ms // 2))
            assert (bodies(held), held.reason) == ([], "ALL_LEASED"), attempt
            await sim.clock.sleep(SETTINGS.visibility_ms // 2 + 100)
        assert (await sim.positions(topic)).groups[0].progress == 1
        await sim.node.seek(SeekRequest(topic.id, 0, group.id, "offset", 3))  # somebody decides
        assert bodies(await sim.node.receive(asked(topic, group, "ada", claimed))) == [b"3"]

    with_node(main)


def test_what_waits_behind_a_message_that_cannot_be_read_says_so() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await exclusive_group(sim)
        shared = await sim.group("shared")
        await send_with_damage(sim, topic)
        before = await sim.node.receive(asked(topic, group, "ada", {0: 1}, max_messages=1))
        await sim.receive(topic, shared, max_messages=1)

        async def unreadable() -> dict[str, int]:
            found = await sim.node.inspect(InspectRequest(topic.id, 0, 3, leader_epoch=1))
            assert {each.state for each in found.groups} == {"waiting"}
            return {each.group_id: each.unreadable for each in found.groups}

        assert await unreadable() == {group.id: -1, shared.id: -1}, "the group is not there yet"
        await settle(sim, before.messages)
        assert await unreadable() == {group.id: 1, shared.id: -1}
        assert await code_of(sim.node.receive(asked(topic, group, "ada", {0: 1}))) is ProblemCode.RECORDS_CORRUPT
        assert await unreadable() == {group.id: 1, shared.id: -1}
        await sim.node.seek(SeekRequest(topic.id, 0, group.id, "offset", 3))
        assert await unreadable() == {group.id: -1, shared.id: -1}

    with_node(main)


def test_a_message_whose_attempts_are_used_up_and_that_cannot_be_read_goes_on_stopping_its_partition() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        group = await exclusive_group(sim, replace(SETTINGS, max_attempts=1))
        await send_with_damage(sim, topic)
        await settle(sim, (await sim.node.receive(asked(topic, group, "ada", {0: 1}))).messages)
        assert await code_of(sim.node.receive(asked(topic, group, "ada", {0: 1}))) is ProblemCode.RECORDS_CORRUPT
        await sim.clock.sleep(3 * SETTINGS.visibility_ms)
        assert bodies(await sim.node.receive(asked(topic, group, "ada", {0: 1}, wait_ms=60_000))) == []
        assert (await sim.positions(topic)).groups[0].progress == 1

    with_node(main)


def test_a_group_without_an_order_passes_what_cannot_be_read() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group("shared")
        await send_with_damage(sim, topic)
        assert bodies(await sim.receive(topic, group)) == [b"0", b"3"]

    with_node(main)


def committed(topic: Topic, group: Group, offset: int, member: str = "", ownership: int = -1) -> CommitRequest:
    return CommitRequest(topic.id, 0, group.id, offset, member=member, ownership=ownership, gone_since=1)


async def code_of(commit: Awaitable[object]) -> ProblemCode | None:
    try:
        await commit
    except ServerError as error:
        return error.code
    return None


def test_a_deposed_member_commits_nothing_from_the_new_owners_first_message_on() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await exclusive_group(sim)
        await sim.send(topic, b"0", b"1", b"2")
        await sim.node.receive(asked(topic, group, "ada", {0: 1}, max_messages=1))
        assert (await sim.node.commit(committed(topic, group, 1, "ada", 1))).progress == 1
        taken = await sim.node.receive(asked(topic, group, "bob", {0: 2}, gone_since=1, max_messages=1))
        assert bodies(taken) == [b"1"]
        for request in (committed(topic, group, 3, "ada", 1), committed(topic, group, 3)):
            assert await code_of(sim.node.commit(request)) is ProblemCode.MEMBER_FENCED
        assert (await sim.positions(topic)).groups[0].progress == 1
        assert (await sim.node.commit(committed(topic, group, 2, "bob", 2))).previous == 1
        assert bodies(await sim.node.receive(asked(topic, group, "bob", {0: 2}))) == [b"2"]

    with_node(main)


def test_a_member_that_never_receives_owns_by_its_commits() -> None:
    """And goes back as it likes: nobody else can have done anything."""

    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await exclusive_group(sim)
        await sim.send(topic, b"0", b"1", b"2")
        for member, ownership, offset in (("ada", 1, 2), ("bob", 2, 3), ("bob", 2, 1)):
            answer = await sim.node.commit(committed(topic, group, offset, member, ownership))
            assert answer.progress == offset
        assert await code_of(sim.node.commit(committed(topic, group, 3, "ada", 1))) is ProblemCode.MEMBER_FENCED
        assert bodies(await sim.node.receive(asked(topic, group, "bob", {0: 2}))) == [b"1", b"2"]

    with_node(main)


@pytest.mark.parametrize("turns", range(12))
def test_a_commit_that_was_taken_holds_whoever_claims_the_partition_at_that_moment(turns: int) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await exclusive_group(sim)
        await sim.send(topic, b"0", b"1", b"2")
        await sim.node.commit(CommitRequest(topic.id, 0, group.id, 1, member="a", ownership=2))
        committing = asyncio.ensure_future(
            sim.node.commit(CommitRequest(topic.id, 0, group.id, 2, member="a", ownership=2))
        )
        for _ in range(turns):
            await asyncio.sleep(0)
        received = await sim.node.receive(asked(topic, group, "b", {0: 3}))
        [committed] = await asyncio.gather(committing, return_exceptions=True)
        progress = 2 if isinstance(committed, CommitResponse) else 1
        assert isinstance(committed, ServerError) or committed.progress == progress
        assert [message.offset for message in received.messages] == list(range(progress, 3))

    with_node(main)
