"""A topic beside the others that keeps the last message of each key, in several partitions that get more while things
go wrong: one client writes it, others ask for the values of keys, read it at its head, and receive it in a group.

No answer is older than what was acknowledged, or seen, before the question; what was removed does not come back; who
reads has all that nothing follows, and all that is young; and in the end the group has had every key's last value.
"""

import asyncio
import json
import random
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from acklog.wire.identifiers import parse_message_id
from cluster.catalog.topic_admin import TopicAdmin
from cluster.model.values import CleanupPolicy, TopicConfig
from tests.sim.clients import UNKNOWN_CODES, Surroundings, items_of, outcome_of
from tests.sim.cluster.administrator import Administrator
from tests.sim.cluster.machines import Surrounding
from tests.sim.cluster.view_judgement import Latest, Page, ViewJudge, Write
from tests.sim.history import Outcome
from tests.sim.http_client import Answer, ConnectionLostError
from tests.sim.options import Fault, Options
from tests.sim.queue_label import VIEW

GROUP = "view-group"
KEYS = ("a", "b/c", "d e", "ü", "f")
BATCH_MAX = 3
TOMBSTONE_PROBABILITY = 0.2
PATIENCE_S = 20.0
WRITE_PAUSE_S, ASK_PAUSE_S, READ_PAUSE_S = 0.15, 0.4, 0.6
GROWTHS_MAX = 2
KEPT_MS = 4_000
KEPT_UNDER_CLOCKS_MS = 1_000
"""Of that, what is left where clocks are as far apart as they may be here."""
CLOCKS_APART_MS_MAX = 1_000
CALM_S_MAX = 120.0


async def create_view(topics: TopicAdmin, options: Options, others: TopicConfig) -> None:
    """Where a run has one; else it is as `others`."""
    if options.view_messages:
        partitions, config = _beginning(options, others)
        factor = options.replication_factor
        await topics.create(VIEW, partitions=partitions, config=config, replication_factor=factor)


def _beginning(options: Options, others: TopicConfig) -> tuple[int, TopicConfig]:
    """With how many partitions, and how. Segments are smaller than anybody can ask for, so that much is compacted."""
    rng = random.Random(f"view settings {options.seed}")
    kept_ms = rng.choice((0, KEPT_MS))
    return rng.randint(2, 3), replace(
        others,
        segment_bytes=rng.choice((400, 1_000)),
        cleanup_policy=CleanupPolicy.COMPACT,
        min_compaction_lag_ms=kept_ms,
        max_compaction_lag_ms=max(kept_ms, rng.choice((1_000, 3_000))),
        tombstone_retention_ms=rng.choice((200, 1_000, 5_000)),
    )


class ViewTopic:
    """`violations` is complete once `run` has returned."""

    def __init__(self, machines: Surrounding, clients: Surroundings, administrator: Administrator) -> None:
        self.violations: list[str] = []
        self._around = clients
        self._options = options = machines.options
        self._coverage = machines.coverage
        self._administrator = administrator
        self._random = random.Random(f"view {options.seed}")
        self._partitions, config = _beginning(options, TopicConfig())
        are_clocks_right = Fault.WALL_JUMP not in options.faults and options.clock_skew_ms <= CLOCKS_APART_MS_MAX
        kept_ms = KEPT_UNDER_CLOCKS_MS if config.min_compaction_lag_ms and are_clocks_right else 0
        self._judge = ViewJudge(surely_kept_ms=kept_ms)
        self._serial = 0
        self._positions: dict[int, int] = {}
        """Where the reader of the head goes on in each partition."""
        self._received: set[int] = set()
        self._is_over = False
        # What rots on the only disk says nothing any more; elsewhere it comes back from the others.
        self._is_judged = Fault.BIT_ROT not in options.faults or options.replication_factor > 1

    async def run(self) -> None:
        """Returns once all is calm, and everything was read, received and asked for again."""
        await self._until_done("PUT", f"/groups/{GROUP}", {"settings": {"maxAttempts": 100}})
        others = [asyncio.create_task(each) for each in (self._ask_on(), self._read_on(), self._receive_on())]
        await self._write()
        while not self._around.calm:
            await self._administrator.pause()
        if self._random.random() < 0.5:
            answer = await self._administrator.ask("POST", f"/topics/{VIEW}/compact", {})
            self._coverage["views compacted now"] += answer is not None and answer.status == 202
            await asyncio.sleep(self._random.uniform(0, 3))
        await self._receive_the_rest()
        self._is_over = True
        await asyncio.gather(*others)
        self._positions.clear()
        for partition in range(self._partitions):
            await self._read_to_the_end(partition)
        for key in KEYS:
            while not await self._ask_for(key):
                await self._administrator.pause()
        if not self._is_judged:
            self.violations.clear()

    # --- writing -----------------------------------------------------------------------------------------------------

    async def _write(self) -> None:
        growths = self._random.randint(0, GROWTHS_MAX)
        while not self._around.calm and self._serial < self._options.view_messages:
            await self._send(self._random.randint(1, BATCH_MAX))
            if growths and self._random.random() < 0.05:
                growths -= 1
                await self._grow()
            await asyncio.sleep(self._random.expovariate(1 / WRITE_PAUSE_S))

    async def _grow(self) -> None:
        answer = await self._administrator.ask("PATCH", f"/topics/{VIEW}", {"partitions": self._partitions + 1})
        if answer is None or answer.status == 200:  # it may have happened
            self._partitions += 1
        self._coverage["views grown"] += answer is not None and answer.status == 200

    async def _send(self, count: int) -> None:
        http = self._around.http()
        if http is None:
            return
        writes = []
        for _ in range(count):
            self._serial += 1
            has_value = self._random.random() >= TOMBSTONE_PROBABILITY
            writes.append(Write(self._serial, self._random.choice(KEYS), has_value, self._around.now_ms()))
            self._judge.begin(writes[-1])
        document = {"queue": VIEW, "messages": [_message(each) for each in writes]}
        try:
            answer = await http.post("/messages", json.dumps(document).encode(), leave_after_s=PATIENCE_S)
        except ConnectionLostError:
            return
        for write, item in zip(writes, items_of(answer, True, count), strict=True):
            write.outcome = outcome_of(self._code(item))
            self._coverage[f"view {write.outcome.name}"] += 1
            if write.outcome is Outcome.OK:
                place = parse_message_id(item["messageId"])
                assert place is not None
                write.place, write.ended_ms = (place.partition, place.offset), self._around.now_ms()

    # --- asking for keys ---------------------------------------------------------------------------------------------

    async def _ask_on(self) -> None:
        rng = random.Random(f"view questions {self._options.seed}")
        while not self._is_over:
            await self._ask_for(rng.choice(KEYS))
            await asyncio.sleep(rng.expovariate(1 / ASK_PAUSE_S))

    async def _ask_for(self, key: str) -> bool:
        """Whether it was answered."""
        began_ms = self._around.now_ms()
        answer = await self._administrator.ask("GET", f"/topics/{VIEW}/keys/{quote(key, safe='')}")
        if answer is None:
            return False
        code = "" if answer.status == 200 else str(answer.json["code"])
        if code not in {"", "KEY_NOT_FOUND"}:
            self._code(answer.json)
            self._coverage[f"question for a key {code}"] += 1
            return False
        self._coverage["keys without a value" if code else "values of keys"] += 1
        found = Latest(key, began_ms, self._around.now_ms())
        if not code:
            view = answer.json
            found = found._replace(serial=int(view["tags"][0]), place=(view["partition"], view["offset"]))
        violation = self._judge.judge_latest(found)
        self.violations += [] if violation is None else [violation]
        return True

    # --- reading and receiving ---------------------------------------------------------------------------------------

    async def _read_on(self) -> None:
        rng = random.Random(f"view reads {self._options.seed}")
        while not self._is_over:
            await self._read(rng.randrange(self._partitions), is_nearest=rng.random() < 0.5)
            await asyncio.sleep(rng.expovariate(1 / READ_PAUSE_S))

    async def _read_to_the_end(self, partition: int) -> None:
        while (has_more := await self._read(partition, is_nearest=False)) is not False:
            if has_more is None:
                await self._administrator.pause()

    async def _read(self, partition: int, *, is_nearest: bool) -> bool | None:
        """Whether there was more. None: nobody knows."""
        began_ms, offset = self._around.now_ms(), self._positions.get(partition, 0)
        query = f"offset={offset}{'&readFrom=nearest' if is_nearest else ''}"
        answer = await self._administrator.ask("GET", f"/topics/{VIEW}/partitions/{partition}/records?{query}")
        if answer is None or answer.status != 200:
            return None if answer is None or self._code(answer.json) != "PARTITION_NOT_FOUND" else False
        document = answer.json
        found = {each["offset"]: int(each["tags"][0]) for each in document["records"]}
        page = Page(partition, offset, document["nextOffset"], began_ms, self._around.now_ms(), found)
        self._coverage["records of a view"] += len(found)
        self._coverage["records of a view that were removed"] += page.next_offset - page.offset - len(found)
        self.violations += self._judge.judge_page(page)
        self._positions[partition] = page.next_offset
        return page.next_offset > offset

    async def _receive_on(self) -> None:
        rng = random.Random(f"view receives {self._options.seed}")
        while not self._is_over:
            query = f"queue={VIEW}&group={GROUP}&max={rng.choice((1, 5))}&visibilitySeconds=1&waitSeconds=0.5"
            answer = await self._administrator.ask("GET", f"/messages?{query}")
            if answer is None or self._code(answer.json) or not answer.json["messages"]:
                await asyncio.sleep(rng.uniform(0.1, 0.5))
                continue
            messages = answer.json["messages"]
            self._received.update(int(message["tags"][0]) for message in messages)
            self._coverage["messages of a view received"] += len(messages)
            if self._around.calm or rng.random() < 0.8:  # else their leases run out
                await self._administrator.ask("POST", "/ack", {"receipts": [each["receipt"] for each in messages]})

    async def _receive_the_rest(self) -> None:
        last = set(self._judge.last_values().values())
        end_ms = self._around.now_ms() + CALM_S_MAX * 1000
        while not last <= self._received and self._around.now_ms() < end_ms:
            await self._administrator.pause()
        if not last <= self._received:
            self.violations.append(f"{GROUP} has not had the last values {sorted(last - self._received)}")

    # --- asking ------------------------------------------------------------------------------------------------------

    async def _until_done(self, method: str, path: str, document: dict[str, Any]) -> None:
        while True:
            answer: Answer | None = await self._administrator.ask(method, path, document)
            if answer is not None and answer.status < 300:
                return
            self._code({} if answer is None else answer.json)
            await self._administrator.pause()

    def _code(self, document: dict[str, Any]) -> str:
        code = str(document.get("code", ""))
        # Where it has not grown after all, or not everybody knows; and where the only node's disk has failed.
        may_be = {"PARTITION_NOT_FOUND", "INVALID_FIELD", *UNKNOWN_CODES}
        if code == "INTERNAL" or (code and not document["retriable"] and code not in may_be):
            self.violations.append(f"about a view: {document}")
        return code


def _message(write: Write) -> dict[str, Any]:
    body: dict[str, Any] = {"body": write.serial} if write.has_value else {"bodyBase64": ""}
    return {"key": write.key, "tags": [str(write.serial)], **body}
