"""Which messages share a batch, and what becomes of them. How batches wait for each other: test_coalescer_waves.py."""

import asyncio
from itertools import count

import pytest

from acklog.wire.batch import encode_batch
from acklog.wire.limits import BATCH_BYTES_MAX, HEADER_VALUE_BYTES_MAX, HEADERS_MAX
from acklog.wire.problems import ProblemCode
from acklog.wire.record import PlainRecord, Record
from app.calls.send_result import Placed
from app.configuration.server_settings import Settings
from app.gateway.batching.coalescer import Coalescer, of_one_form
from cluster.errors import ServerError
from storage.rpc.messages import ACKS_ALL, ProduceResponse
from tests.support.coalescing import coalescer_of
from tests.support.manual_clock import settle

TOPIC = "t" * 13


class Appends:
    """Notes batches, and gives them offsets; `failures` come first. Nothing is answered unless `is_open` is set."""

    def __init__(self) -> None:
        self.is_open = asyncio.Event()
        self.is_open.set()
        self.deadlines_ms: list[int] = []
        self.batches: list[tuple[int, int, list[bytes]]] = []
        self.failures: list[BaseException] = []
        self._next: dict[int, int] = {}

    async def append(
        self, topic_id: str, partition: int, acks: int, records: list[Record], *, deadline_ms: int
    ) -> ProduceResponse:
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop(0)
        self.deadlines_ms.append(deadline_ms)
        self.batches.append((partition, acks, [record.body for record in records]))
        base = self._next.get(partition, 0)
        self._next[partition] = base + len(records)
        await self.is_open.wait()
        return ProduceResponse(-1 if acks == 0 else base, 5, 1)


@pytest.fixture
def appends() -> Appends:
    return Appends()


@pytest.fixture
def coalescer(appends: Appends) -> Coalescer:
    now_ms = count(1)
    return coalescer_of(appends.append, messages_max=3, bytes_max=2000, deadline=lambda: next(now_ms))


async def test_one_turns_messages_share_a_batch_per_partition_and_acks(coalescer: Coalescer, appends: Appends) -> None:
    places = [(0, ACKS_ALL), (1, ACKS_ALL), (0, ACKS_ALL), (0, 1)]
    futures = [coalescer.add(TOPIC, *place, Record(b"%d" % number)) for number, place in enumerate(places)]
    placed = await asyncio.gather(*futures)
    assert appends.batches == [(0, ACKS_ALL, [b"0", b"2"]), (1, ACKS_ALL, [b"1"]), (0, 1, [b"3"])]
    assert placed == [Placed(0, 5, 0), Placed(1, 5, 0), Placed(0, 5, 1), Placed(0, 5, 2)]


async def test_the_next_turn_gets_a_batch_of_its_own(coalescer: Coalescer, appends: Appends) -> None:
    for number in range(2):
        await coalescer.add(TOPIC, 0, ACKS_ALL, Record(b"%d" % number))
    assert [bodies for _, _, bodies in appends.batches] == [[b"0"], [b"1"]]


async def test_a_batch_holds_no_more_messages_than_allowed(coalescer: Coalescer, appends: Appends) -> None:
    await asyncio.gather(*[coalescer.add(TOPIC, 0, ACKS_ALL, Record(b"")) for _ in range(7)])
    assert [len(bodies) for _, _, bodies in appends.batches] == [3, 3, 1]


async def test_a_batch_holds_no_more_bytes_than_allowed(coalescer: Coalescer, appends: Appends) -> None:
    await asyncio.gather(*[coalescer.add(TOPIC, 0, ACKS_ALL, Record(b"x" * 700)) for _ in range(3)])
    assert [len(bodies) for _, _, bodies in appends.batches] == [2, 1]


def test_the_largest_headers_cannot_make_a_batch_too_large() -> None:
    """A record is counted for at least what it takes in the batch, whatever it is made of."""
    headers = {f"{number}": "é" * (HEADER_VALUE_BYTES_MAX // 2) for number in range(HEADERS_MAX)}
    record = Record(b"x", "é" * 500, headers, ["é" * 30] * 16, 2**40, "t" * 128)
    loop = asyncio.new_event_loop()
    try:
        settings = Settings()
        sizes: list[int] = []

        async def append(
            topic_id: str, partition: int, acks: int, records: list[Record], *, deadline_ms: int
        ) -> ProduceResponse:
            sizes.append(len(encode_batch(records)))
            return ProduceResponse(0, 1, 1)

        async def fill() -> None:
            coalescer = coalescer_of(
                append,
                messages_max=settings.coalesced_messages_max,
                bytes_max=settings.coalesced_bytes_max,
                in_flight_max=settings.coalesced_batches_in_flight_max,
            )
            await asyncio.gather(*[coalescer.add(TOPIC, 0, ACKS_ALL, record) for _ in range(100)])

        loop.run_until_complete(fill())
    finally:
        loop.close()
    assert len(sizes) > 1
    assert max(sizes) <= settings.coalesced_bytes_max < BATCH_BYTES_MAX


async def test_a_failure_is_each_messages_own(coalescer: Coalescer, appends: Appends) -> None:
    appends.failures.append(ServerError(ProblemCode.OVERLOADED, "full", retry_after_ms=5))
    results = await asyncio.gather(
        *[coalescer.add(TOPIC, 0, ACKS_ALL, Record(b"")) for _ in range(2)], return_exceptions=True
    )
    assert results[0] is not results[1]
    for result in results:
        assert isinstance(result, ServerError)
        assert (result.code, result.retry_after_ms) == (ProblemCode.OVERLOADED, 5)


async def test_a_message_that_nobody_waits_for_any_more_does_not_disturb_the_others(
    coalescer: Coalescer, appends: Appends
) -> None:
    gone = coalescer.add(TOPIC, 0, ACKS_ALL, Record(b"gone"))
    other = coalescer.add(TOPIC, 0, ACKS_ALL, Record(b"other"))
    gone.cancel()
    assert await other == Placed(0, 5, 1)
    appends.failures.append(ServerError(ProblemCode.OVERLOADED, "full"))
    coalescer.add(TOPIC, 0, ACKS_ALL, Record(b"gone")).cancel()
    await settle()


async def test_behind_batches_under_way_a_partitions_next_one_waits_and_grows(
    coalescer: Coalescer, appends: Appends
) -> None:
    appends.is_open.clear()
    futures = []
    for number in range(4):
        futures.append(coalescer.add(TOPIC, 0, ACKS_ALL, Record(b"%d" % number)))
        await settle()
    other = coalescer.add(TOPIC, 1, ACKS_ALL, Record(b"elsewhere"))
    await settle()
    assert [bodies for _, _, bodies in appends.batches] == [[b"0"], [b"1"], [b"elsewhere"]]
    appends.is_open.set()
    assert await asyncio.gather(*futures) == [Placed(0, 5, offset) for offset in range(4)]
    assert appends.batches[3:] == [(0, ACKS_ALL, [b"2", b"3"])]
    assert appends.deadlines_ms == [1, 2, 4, 3], "a batch has the time of its first message, wherever that waited"
    await other


async def test_a_full_batch_waits_for_nobody(coalescer: Coalescer, appends: Appends) -> None:
    appends.is_open.clear()
    futures = []
    for number in range(2 + 3 + 1):
        futures.append(coalescer.add(TOPIC, 0, ACKS_ALL, Record(b"%d" % number)))
        await settle()
    assert [len(bodies) for _, _, bodies in appends.batches] == [1, 1, 3]
    appends.is_open.set()
    assert await asyncio.gather(*futures) == [Placed(0, 5, offset) for offset in range(6)]


async def test_what_waited_for_a_batch_that_fails_is_tried_all_the_same() -> None:
    gate = asyncio.Event()

    async def append(
        topic_id: str, partition: int, acks: int, records: list[Record], *, deadline_ms: int
    ) -> ProduceResponse:
        if records[0].body == b"fails":
            await gate.wait()
            raise ServerError(ProblemCode.OVERLOADED, "full")
        return ProduceResponse(0, 5, 1)

    coalescer = coalescer_of(append, messages_max=3, bytes_max=2000, in_flight_max=1)
    failing = coalescer.add(TOPIC, 0, ACKS_ALL, Record(b"fails"))
    await settle()
    waiting = coalescer.add(TOPIC, 0, ACKS_ALL, Record(b"waits"))
    await settle()
    assert not waiting.done()
    gate.set()
    assert await waiting == Placed(0, 5, 0)
    with pytest.raises(ServerError, match="full"):
        await failing


async def test_nothing_is_kept_of_a_partition_that_is_at_rest(coalescer: Coalescer, appends: Appends) -> None:
    await asyncio.gather(*[coalescer.add(TOPIC, number, ACKS_ALL, Record(b"")) for number in range(50)])
    assert not coalescer.places
    assert not coalescer.waves


async def test_without_offsets_there_is_none_to_give(coalescer: Coalescer) -> None:
    futures = [coalescer.add(TOPIC, 0, 0, Record(b"")) for _ in range(2)]
    assert await asyncio.gather(*futures) == [Placed(0, 5, -1), Placed(0, 5, -1)]


def test_a_batch_of_plain_records_stays_plain_and_any_other_is_of_whole_ones() -> None:
    plain: list[Record | PlainRecord] = [(b"1", "a"), (b"2", None)]
    assert of_one_form(plain) is plain
    assert of_one_form([*plain, Record(b"3", tags=["t"])]) == [
        Record(b"1", "a"),
        Record(b"2"),
        Record(b"3", tags=["t"]),
    ]
