"""Histories that seeds meet too seldom, each with the planted bug that it is there for."""

import asyncio
import json

import pytest

from acklog.wire.identifiers import parse_message_id
from storage.log.log_table import LogKind
from tests.property.replication.mutants import repair_in_the_isr
from tests.scenarios.test_bit_rot import flip_a_bit, read_everything
from tests.sim.clients import outcome_of
from tests.sim.cluster.leader_mutants import deposed_leaders_answer_readers, leaders_that_cannot_commit_stay
from tests.sim.cluster.links import COORDINATION
from tests.sim.cluster.machines import GatewayMachine
from tests.sim.cluster.mutants import earlier_mappings_go_on
from tests.sim.cluster.reader_mutants import nearest_reads_go_to_the_log_end
from tests.sim.cluster.stage import Script, Stage, play
from tests.sim.history import Outcome, ReadRefused, RecordsRead, Sent
from tests.sim.http_client import Answer, ConnectionLostError
from tests.sim.world import QUEUE


def finds(script: Script, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        play(script)


# --- repair -----------------------------------------------------------------------------------------------------------


async def a_damaged_leader_has_to_stay_in_sync(stage: Stage) -> None:
    """With a third replica away the ISR is at its minimum. What the damaged one throws away while it counts as in sync
    takes a while to be filled again, and nobody else has it then but the one that leads."""
    await stage.send_acknowledged(5)
    await stage.all_in_sync()
    leader = stage.leader
    away, successor = stage.others(leader)
    stage.kill(away)
    await stage.until(lambda: away.node_id not in stage.state.isr, "the one that is away has left")
    stage.world.network.links.link(successor.name, leader.name).extra_ms = 400.0
    flip_a_bit(stage, leader, LogKind.MESSAGES)
    await read_everything(stage, leader)
    await stage.until(lambda: stage.leader is successor, "the other one leads")
    await stage.sleep(3)
    stage.heal()
    await stage.send_acknowledged(2)
    stage.start(away)
    await stage.all_in_sync()


def test_a_damaged_replica_of_the_isr_keeps_what_it_has() -> None:
    play(a_damaged_leader_has_to_stay_in_sync)


def test_repair_in_the_isr_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    repair_in_the_isr(monkeypatch)
    finds(a_damaged_leader_has_to_stay_in_sync, "in sync")


# --- mappings ---------------------------------------------------------------------------------------------------------


async def send_named(stage: Stage, gateway: GatewayMachine, *, key: str, request: int) -> Sent:
    """The same message under the same name, however often."""
    body = json.dumps({"uid": key, "pad": ""})
    text = f'{{"queue":"{QUEUE}","key":"{key}","dedupId":"once-{key}","body":{body}}}'
    began_ms = stage.world.around.now_ms()
    assert gateway.http is not None
    item = (await gateway.http.post("/messages", text.encode())).json
    outcome = outcome_of(str(item.get("code", "")))
    place = parse_message_id(item["messageId"]) if outcome is Outcome.OK else None
    sent = Sent(
        began_ms=began_ms,
        ended_ms=stage.world.around.now_ms(),
        sender=gateway.name,
        request=request,
        index=0,
        uid=key,
        queue=QUEUE,
        body=body,
        outcome=outcome,
        code=str(item.get("code", "")),
        key=key,
        dedup_id=f"once-{key}",
        partition=place.partition if place else -1,
        offset=place.offset if place else -1,
        epoch=place.epoch if place else -1,
    )
    stage.world.history.add(sent)
    return sent


async def a_gateway_does_not_hear_that_the_topic_has_grown(stage: Stage) -> None:
    """It sends by the mapping that it knows, after the partition has told another one that it does not have the key."""
    await stage.send_acknowledged(1)
    unaware, other = stage.hardware.gateways
    stage.cut(unaware.name, COORDINATION)
    assert other.gateway is not None
    assert other.process is not None
    await other.process.call(other.gateway.gateway.topics.update(QUEUE, partitions=4))
    await stage.until(lambda: len(stage.world.store.partitions) >= 4, "the topic has grown")
    await stage.sleep(2)
    for number in range(8):
        first = await send_named(stage, other, key=f"named-{number}", request=number)
        assert first.outcome is Outcome.OK
    for number in range(8):
        await send_named(stage, unaware, key=f"named-{number}", request=100 + number)


def test_a_partition_takes_no_keys_by_an_earlier_mapping() -> None:
    play(a_gateway_does_not_hear_that_the_topic_has_grown)


def test_earlier_mappings_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    earlier_mappings_go_on(monkeypatch)
    finds(a_gateway_does_not_hear_that_the_topic_has_grown, "DuplicatesGetTheFirstAnswer|NothingTwice")


# --- the nearest ------------------------------------------------------------------------------------------------------


async def page_of_the_nearest(stage: Stage, gateway: GatewayMachine) -> RecordsRead:
    """From the beginning."""
    assert gateway.http is not None
    watermarks = stage.world.watermarks
    began_ms, starting = stage.world.around.now_ms(), watermarks.starting()
    answer: Answer = await gateway.http.get(
        f"/topics/{QUEUE}/partitions/0/records", {"offset": "0", "readFrom": "nearest"}
    )
    document = answer.json
    page = RecordsRead(
        began_ms=began_ms,
        ended_ms=stage.world.around.now_ms(),
        reader="script",
        queue=QUEUE,
        partition=0,
        offset=0,
        next_offset=document["nextOffset"],
        high_watermark=document["highWatermark"],
        records=[],
        is_nearest=True,
    )
    watermarks.judge(stage.state.topic_id, page, starting)
    return page


async def the_nearest_holds_more_than_is_committed(stage: Stage) -> None:
    """One follower does not fetch, so that what the other one has is not committed for a while."""
    await stage.send_acknowledged(3)
    await stage.all_in_sync()
    silent, near = stage.others(stage.leader)
    silent.pause()
    sending = asyncio.create_task(stage.send())
    await stage.until(lambda: stage.log_end(near) == 4, "the other follower has it")
    pages = [await page_of_the_nearest(stage, stage.hardware.gateways[0]) for _ in range(3)]
    silent.resume()
    await sending
    assert {page.next_offset for page in pages} == {3}, "the nearest gave what is not committed"


def test_the_nearest_gives_what_is_committed() -> None:
    play(the_nearest_holds_more_than_is_committed, max_replica_lag_ms=10_000)


def test_reads_beyond_the_high_watermark_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    nearest_reads_go_to_the_log_end(monkeypatch)
    with pytest.raises(AssertionError, match="the nearest gave what is not committed"):
        play(the_nearest_holds_more_than_is_committed, max_replica_lag_ms=10_000)


# --- leaders that are over --------------------------------------------------------------------------------------------


async def asked_for_the_end(stage: Stage, gateway: GatewayMachine, offset: int) -> ReadRefused | None:
    """What a reader is told who asks for what comes behind an acknowledged message; None if no answer came."""
    assert gateway.http is not None
    began_ms = stage.world.around.now_ms()
    try:
        answer = await gateway.http.get(
            f"/topics/{QUEUE}/partitions/0/records", {"offset": str(offset)}, leave_after_s=5
        )
    except ConnectionLostError:
        return None
    refused = ReadRefused(
        began_ms=began_ms,
        ended_ms=stage.world.around.now_ms(),
        reader="script",
        queue=QUEUE,
        partition=0,
        offset=offset,
        code=str(answer.json.get("code", "")),
    )
    stage.world.history.add(refused)
    return refused


async def a_deposed_leader_on_an_island(stage: Stage) -> None:
    """With a gateway, and without the store: neither knows that somebody else leads by now."""
    await stage.send_acknowledged(3)
    await stage.all_in_sync()
    leader, (isolated, other) = stage.leader, stage.hardware.gateways
    island = [leader.name, isolated.name]
    rest = [other.name, COORDINATION, *(machine.name for machine in stage.others(leader))]
    links = stage.world.network.links
    for link in [*links.between(island, rest), *links.between(rest, island)]:
        link.block()
    await stage.until(lambda: stage.leader is not leader, "another leads")
    sent = await stage.send(gateway=other)
    assert sent.outcome is Outcome.OK
    await stage.sleep(0.1)
    await asked_for_the_end(stage, isolated, sent.offset + 1)


def test_a_deposed_leader_denies_nothing() -> None:
    play(a_deposed_leader_on_an_island)


def test_deposed_leaders_that_answer_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    deposed_leaders_answer_readers(monkeypatch)
    finds(a_deposed_leader_on_an_island, "AcknowledgedIsReadable: script was told OFFSET_OUT_OF_RANGE")


async def a_leader_reaches_the_store_only(stage: Stage) -> None:
    """Its followers could go on without it, and its registration does not end."""
    await stage.send_acknowledged(3)
    await stage.all_in_sync()
    leader = stage.leader
    for machine in stage.others(leader):
        stage.cut(leader.name, machine.name)
    await stage.send()
    await stage.until(lambda: stage.leader is not leader, "another leads")


def test_a_leader_that_cannot_commit_hands_over() -> None:
    play(a_leader_reaches_the_store_only)


def test_leaders_that_stay_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    leaders_that_cannot_commit_stay(monkeypatch)
    finds(a_leader_reaches_the_store_only, "waited in vain until another leads")
