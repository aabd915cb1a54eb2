"""While the audit log takes no records: what is done all the same, what is not, and what becomes of the records."""

import asyncio
from typing import Any

import pytest

from app.audit.audit_record import AuditRecord, AuditResult
from app.audit.record_text import encode_record
from app.http.exchange.http_services import HttpServices
from cluster.model.internal_topics import AUDIT_TOPIC
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld
from tests.support.waiting import poll_until
from tests.unit.app.http.audit.audited_world import ADMIN, PRODUCER, UNKNOWN, audited_world, bearer, records_of

HEADERS = bearer(ADMIN)
SHORT_MS = 20
LONG_MS = 600_000


def with_leader(world: MemoryWorld, place: tuple[str, int]) -> None:
    """There is one again, and time enough on any machine."""
    world.metadata.leaderless.discard(place)
    world.gateway.settings.adopt({"audit_timeout_ms": LONG_MS})


def record_of(number: int) -> AuditRecord:
    """Of one length."""
    return AuditRecord(id=f"{number:016x}", time=1, result=AuditResult.ALLOWED, detail="x" * 10_000)


async def without_leader(world: MemoryWorld, client: Any, *, timeout_ms: int = SHORT_MS) -> tuple[str, int]:
    """The partition, which nobody leads from now on; acts wait for their records as long as that."""
    await client.put("/topics/first", headers=HEADERS)
    topic = world.metadata.topic(AUDIT_TOPIC)
    assert topic is not None
    world.metadata.leaderless.add((topic.id, 0))
    world.gateway.settings.adopt({"audit_timeout_ms": timeout_ms})
    return topic.id, 0


async def test_an_act_is_done_and_its_record_waits(serve: Any) -> None:
    world = audited_world(audit="on")
    async with serve(world) as client:
        place = await without_leader(world, client)
        assert (await client.put("/topics/orders", headers=HEADERS)).status_code == 201
        assert (await client.put("/topics/orders", headers=HEADERS)).status_code == 200
        metrics = (await client.get("/metrics", headers=HEADERS)).text
        [waiting] = [line for line in metrics.splitlines() if line.startswith("acklog_audit_waiting_bytes ")]
        assert float(waiting.split()[1]) > 100
        with_leader(world, place)
        await asyncio.sleep(0)

        async def are_stored() -> bool:
            return len(await records_of(client)) == 3

        await poll_until(are_stored, seconds=30, what="records stored")
        assert [each["status"] for each in await records_of(client)] == [201, 201, 200]
        assert "acklog_audit_waiting_bytes 0.0" in (await client.get("/metrics", headers=HEADERS)).text


async def test_where_it_is_required_nothing_is_done(serve: Any) -> None:
    world = audited_world(audit="required")
    async with serve(world) as client:
        place = await without_leader(world, client)
        for method, path, body in (
            ("PUT", "/topics/orders", {}),
            ("DELETE", "/topics/first", None),
            ("PUT", "/cluster/pause", None),
            ("POST", "/tokens", {"name": "shop", "roles": ["producer"]}),
        ):
            answer = await client.request(method, path, headers=HEADERS, **({} if body is None else {"json": body}))
            assert (answer.status_code, answer.json()["code"]) == (503, "AUDIT_UNAVAILABLE")
            assert answer.headers["retry-after"] == "1"
        assert world.metadata.topic("orders") is None
        assert world.metadata.topic("first") is not None
        assert len(world.metadata.tokens) == 0
        assert world.metadata.steering.cluster.automatic_moves
        sent = await client.post("/messages", json={"queue": "first", "body": 1}, headers=HEADERS)
        assert sent.status_code == 201, "what is no act goes on"
        with_leader(world, place)

        async def are_stored() -> bool:
            return len(await records_of(client)) == 2 + 2 * 4

        await poll_until(are_stored, seconds=30, what="records stored")
        found = await records_of(client)
        assert {each["code"] for each in found if each["result"] == "failed"} == {"AUDIT_UNAVAILABLE"}
        assert (await client.put("/topics/orders", headers=HEADERS)).status_code == 201


async def test_where_it_is_required_a_commit_goes_on(serve: Any) -> None:
    world = audited_world(audit="required")
    async with serve(world) as client:
        await client.put("/groups/mail", headers=HEADERS)
        await without_leader(world, client)
        commit = {"offsets": [{"topic": "first", "partition": 0, "offset": 0}]}
        assert (await client.put("/groups/mail/offsets", json=commit, headers=HEADERS)).status_code == 200
        seek = {"topic": "first", "to": "latest"}
        assert (await client.put("/groups/mail/offsets", json=seek, headers=HEADERS)).status_code == 503


async def test_who_may_not_do_it_is_told_so_at_once(serve: Any) -> None:
    """Not that it cannot be recorded: nothing is intended by who has no right to it."""
    world = audited_world(audit="required")
    async with serve(world) as client:
        await without_leader(world, client, timeout_ms=LONG_MS)
        for token, status in ((PRODUCER, 403), (UNKNOWN, 401)):
            for method, path in (("PUT", "/topics/orders"), ("DELETE", "/groups/g"), ("POST", "/tokens")):
                answer = await client.request(method, path, headers=bearer(token))
                assert answer.status_code == status


async def test_records_beyond_the_room_are_lost_and_told(
    serve: Any, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    world = audited_world(audit="on")
    async with serve(world) as client:
        place = await without_leader(world, client)
        journal = HttpServices(world.gateway).audit_journal
        size_bytes = len(encode_record(record_of(0), lambda _text: False))
        room = world.gateway.settings.audit_waiting_bytes_max // size_bytes
        waiting = [journal.put(record_of(number)) for number in range(room)]
        assert None not in waiting, "at the limit"
        assert [journal.put(record_of(room)) for _ in range(3)] == [None, None, None]
        assert not await journal.write(record_of(room))
        said = capsys.readouterr().out + caplog.text
        assert said.count("audit_records_lost") == 1, "once, and not for each"
        with_leader(world, place)
        await asyncio.gather(*filter(None, waiting))
        assert await journal.write(record_of(room)), "there is room again"


async def test_a_server_that_ends_gives_its_records_some_time(serve: Any) -> None:
    world = audited_world(audit="on")
    async with serve(world) as client:
        place = await without_leader(world, client)
        await client.put("/topics/orders", headers=HEADERS)
        metrics = HttpServices(world.gateway)
        await world.gateway.shutdown.end()
        text = (await client.get("/metrics", headers=HEADERS)).text
        assert "acklog_audit_records_lost_total 1.0" in text
        assert metrics.audit_journal.mode.value == "on"
        with_leader(world, place)
        await settle()


async def test_a_record_whose_answer_was_lost_is_there_once(serve: Any) -> None:
    """The journal sends it again, in another batch; the log knows it by its key."""
    world = audited_world(audit="on")
    async with serve(world) as client:
        await client.put("/topics/first", headers=HEADERS)
        journal = HttpServices(world.gateway).audit_journal
        record = AuditRecord(id="a" * 16, time=1, result=AuditResult.ALLOWED, operation="putTopic")
        for _ in range(3):
            assert await journal.write(record)
        intended = AuditRecord(id="a" * 16, time=1, result=AuditResult.INTENDED, operation="putTopic")
        assert await journal.write(intended)
        found = [each["result"] for each in await records_of(client) if each["id"] == record.id]
        assert found == ["allowed", "intended"]
