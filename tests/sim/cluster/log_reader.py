"""A client that reads the log over HTTP, with no group: pages, single messages, and listings of where the log ends.

It stays with one gateway for a while, whatever that is cut off from, as a process with an open connection does.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from acklog.wire.identifiers import MessageId, parse_message_id
from cluster.model.values import Topic
from tests.sim.clients import Surroundings
from tests.sim.cluster.hardware import Hardware
from tests.sim.cluster.watermarks import Watermarks
from tests.sim.consumer import raw_bodies
from tests.sim.filters import FILTERS
from tests.sim.history import (
    EndListed,
    Event,
    FilteredRead,
    MessageLooked,
    Outcome,
    ReadRecord,
    ReadRefused,
    RecordsRead,
    Sent,
)
from tests.sim.http_client import Answer, ConnectionLostError, HttpClient
from tests.sim.reader_checkers import NOT_RETRIABLE

PATIENCE_S = (1.0, 5.0, 60.0)
STAYS_MAX = 12
"""Requests to one gateway, at most."""
WAIT_S_MAX = 2.0
FILTERED_SHARE = 0.3
BEYOND_MAX = 3
"""How far behind the end a reader asks at times."""


class LogReader:
    """One request after the other, about the partitions of one topic."""

    def __init__(
        self, name: str, topic: Callable[[], Topic], around: Surroundings, hardware: Hardware, watermarks: Watermarks
    ) -> None:
        self._name = name
        self._topic = topic
        self._around = around
        self._hardware = hardware
        self._watermarks = watermarks
        self._random = random.Random(f"{name} {around.options.seed}")
        self._filter_random = random.Random(f"filters of {name} {around.options.seed}")
        self._positions: dict[int, dict[str, str]] = {}
        """Where to go on in each partition, and the epoch that goes with it."""
        self._message_ids: list[str] = []
        self._http: HttpClient | None = None
        self._stays = 0

    async def run(self, until: Callable[[], bool]) -> None:
        while not until():
            await asyncio.sleep(self._random.expovariate(1 / 0.2))
            await self._ask(self._random.randrange(self._topic().partitions))

    @property
    def _who(self) -> str:
        """The reader, and by which gateway."""
        assert self._http is not None
        return f"{self._name} by {self._http.process.name}"

    @property
    def _queue(self) -> str:
        return self._topic().name

    async def _ask(self, partition: int) -> None:
        choice = self._random.random()
        if self._around.options.has_marks and self._filter_random.random() < FILTERED_SHARE:
            await self._read_filtered(partition)
        elif choice < 0.5:
            await self._tail(partition)
        elif choice < 0.75:
            await self._read_from(partition, self._some_offset(partition))
        elif choice < 0.88:
            await self._look(partition)
        else:
            await self._list(partition)

    def _some_offset(self, partition: int) -> int:
        """At or behind what somebody was told last, mostly."""
        acknowledged = self._acknowledged(partition)
        end = max((sent.offset + 1 for sent in acknowledged[-20:]), default=0)
        if self._random.random() < 0.3:
            return self._random.randint(0, end + BEYOND_MAX)
        return max(0, end - self._random.randint(0, 2))

    def _acknowledged(self, partition: int) -> list[Sent]:
        sends = self._around.history.of(Sent)
        place = (self._queue, partition)
        return [sent for sent in sends if sent.outcome is Outcome.OK and (sent.queue, sent.partition) == place]

    # --- pages ---

    async def _tail(self, partition: int) -> None:
        wait = {"waitSeconds": f"{self._random.uniform(0.1, WAIT_S_MAX):.3f}"} if self._random.random() < 0.5 else {}
        position = self._positions.get(partition, {"offset": "0"})
        page = await self._read_from(partition, int(position["offset"]), {**position, **wait})
        if page is not None:
            self._positions[partition] = {"offset": str(page.next_offset), "epoch": str(page.epoch)}

    async def _read_from(self, partition: int, offset: int, more: dict[str, str] | None = None) -> RecordsRead | None:
        is_nearest = self._random.random() < 0.5
        query = {"offset": str(offset), "maxBytes": str(self._random.choice((1, 2_000, 100_000))), **(more or {})}
        if is_nearest:
            query["readFrom"] = "nearest"
        began_ms, starting = self._around.now_ms(), self._watermarks.starting()
        answer = await self._get(f"/topics/{self._queue}/partitions/{partition}/records", query)
        if answer is None:
            return None
        if answer.status != 200:
            self._refused(partition, offset, answer, began_ms, "records")
            return None
        page = self._page(partition, answer, began_ms, is_nearest=is_nearest)
        self._note(page)
        self._around.coverage["pages of the nearest" if is_nearest else "pages of the leader"] += 1
        self._watermarks.judge(self._topic().id, page, starting)
        return page

    def _page(self, partition: int, answer: Answer, began_ms: float, *, is_nearest: bool) -> RecordsRead:
        document = answer.json
        records = [
            self._record(each, body) for each, body in zip(document["records"], raw_bodies(answer.body), strict=True)
        ]
        return RecordsRead(
            began_ms=began_ms,
            ended_ms=self._around.now_ms(),
            reader=self._who,
            queue=self._queue,
            partition=partition,
            offset=document["offset"],
            next_offset=document["nextOffset"],
            epoch=document["epoch"],
            high_watermark=document["highWatermark"],
            records=records,
            is_nearest=is_nearest,
        )

    @staticmethod
    def _record(view: dict[str, Any], body: str) -> ReadRecord:
        place = parse_message_id(view["messageId"])
        assert place is not None
        return ReadRecord(place.offset, place.epoch, view["body"]["uid"], body, view["appendTime"])

    async def _read_filtered(self, partition: int) -> None:
        """From the beginning or somewhere behind it, page after page, as long as there is more at hand."""
        text = self._filter_random.choice(FILTERS)
        position, position_before = self._filter_random.choice((0, 0, self._some_offset(partition))), -1
        while position != position_before:
            query = {"offset": str(position), "filter": text, "maxBytes": self._filter_random.choice(("1", "2000"))}
            began_ms = self._around.now_ms()
            answer = await self._get(f"/topics/{self._queue}/partitions/{partition}/records", query)
            if answer is None:
                return
            if answer.status != 200:
                self._refused(partition, position, answer, began_ms, "filtered records")
                return
            document = answer.json
            self._around.coverage["pages through a filter"] += 1
            self._note(
                FilteredRead(
                    began_ms=began_ms,
                    ended_ms=self._around.now_ms(),
                    reader=self._who,
                    queue=self._queue,
                    partition=partition,
                    filter=text,
                    offset=document["offset"],
                    next_offset=document["nextOffset"],
                    offsets=[_offset_of(each) for each in document["records"]],
                )
            )
            position, position_before = document["nextOffset"], position

    # --- single messages, and ends ---

    async def _look(self, partition: int) -> None:
        acknowledged = self._acknowledged(partition)
        if not acknowledged:
            return
        sent = self._random.choice(acknowledged[-10:])
        message_id = MessageId(self._topic().id, partition, sent.epoch, sent.offset)
        began_ms = self._around.now_ms()
        answer = await self._get(f"/messages/{message_id}", {})
        if answer is None:
            return
        if answer.status != 200:
            self._refused(partition, sent.offset, answer, began_ms, "look")
            return
        record = self._record(answer.json, raw_bodies(answer.body)[0])
        self._around.coverage["looks at a message"] += 1
        self._note(
            MessageLooked(
                began_ms=began_ms,
                ended_ms=self._around.now_ms(),
                reader=self._who,
                queue=self._queue,
                partition=partition,
                offset=record.offset,
                epoch=record.epoch,
                uid=record.uid,
                body=record.body,
            )
        )

    async def _list(self, partition: int) -> None:
        began_ms, starting = self._around.now_ms(), self._watermarks.starting()
        answer = await self._get(f"/topics/{self._queue}/partitions/{partition}", {})
        if answer is None:
            return
        if answer.status != 200:
            self._refused(partition, -1, answer, began_ms, "listing")
            return
        end = answer.json["highWatermark"]
        if end is None:
            self._around.code_of(answer.json["problem"], "a listing")
            return
        self._around.coverage["listings"] += 1
        listed = EndListed(
            began_ms=began_ms,
            ended_ms=self._around.now_ms(),
            reader=self._who,
            queue=self._queue,
            partition=partition,
            high_watermark=end,
        )
        self._note(listed)
        self._watermarks.judge(self._topic().id, listed, starting)

    # --- asking ---

    async def _get(self, path: str, query: dict[str, str]) -> Answer | None:
        http = self._gateway()
        if http is None:
            return None
        try:
            return await http.get(path, query, leave_after_s=self._random.choice(PATIENCE_S))
        except ConnectionLostError:
            self._around.coverage["reads without an answer"] += 1
            self._stays = 0
            return None

    def _gateway(self) -> HttpClient | None:
        living = self._hardware.living_gateways()
        if self._http not in living or self._stays <= 0:
            self._http = self._random.choice(living) if living else None
            self._stays = self._random.randint(1, STAYS_MAX)
        self._stays -= 1
        return self._http

    def _refused(self, partition: int, offset: int, answer: Answer, began_ms: float, what: str) -> None:
        code = str(answer.json["code"])
        if code not in NOT_RETRIABLE:
            self._around.code_of(answer.json, what)
        self._around.coverage[f"{what} {code}"] += 1
        self._note(
            ReadRefused(
                began_ms=began_ms,
                ended_ms=self._around.now_ms(),
                reader=self._who,
                queue=self._queue,
                partition=partition,
                offset=offset,
                code=code,
            )
        )

    def _note(self, event: Event) -> None:
        self._around.history.add(event)


def _offset_of(view: dict[str, Any]) -> int:
    place = parse_message_id(view["messageId"])
    assert place is not None
    return place.offset
