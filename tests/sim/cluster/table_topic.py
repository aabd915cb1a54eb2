"""A topic beside the others that keeps the last message of each key: who writes it, and what is left on each replica.

One client writes, one request after the other, so that of each key it is known which value was acknowledged last. What
is unknown may be there or not, also later than that.
"""

import asyncio
import json
import random
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from acklog.wire.compacted_batch import decode_remaining
from acklog.wire.identifiers import parse_message_id
from acklog.wire.record import Record
from cluster.catalog.topic_admin import TopicAdmin
from cluster.errors import ServerError
from cluster.model.values import CleanupPolicy, TopicConfig
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from storage.node.replicas.replica_host import ReplicaHost
from tests.sim.clients import LONGEST_WAIT_S, Surroundings, items_of, outcome_of
from tests.sim.cluster.inspector import replicas_of
from tests.sim.cluster.machines import NodeMachine
from tests.sim.history import Outcome
from tests.sim.http_client import ConnectionLostError
from tests.sim.options import Options
from tests.sim.process import ProcessDiedError
from tests.sim.queue_label import TABLE

KEYS = 6
TOMBSTONE_PROBABILITY = 0.2
BATCH_MAX = 4
PAUSE_MS = 60
READS_MAX = 20
READ_BYTES = 50_000


async def create_table(topics: TopicAdmin, options: Options, others: TopicConfig) -> None:
    """Where a run has one. Segments are small and lags short, so that much is compacted; else it is as `others`."""
    if not options.table_messages:
        return
    rng = random.Random(f"table settings {options.seed}")
    config = replace(
        others,
        segment_bytes=rng.choice((400, 1_000)),
        cleanup_policy=CleanupPolicy.COMPACT,
        min_compaction_lag_ms=rng.choice((0, 0, 500)),
        max_compaction_lag_ms=rng.choice((1_000, 3_000)),
        tombstone_retention_ms=rng.choice((200, 1_000, 5_000)),
    )
    await topics.create(TABLE, partitions=1, config=config, replication_factor=options.replication_factor)


@dataclass(frozen=True, slots=True)
class Written:
    """`value` None: a tombstone. `offset` -1: nobody knows whether it was stored, or where."""

    serial: int
    key: str
    value: str | None
    outcome: Outcome
    offset: int


class TableWriter:
    """`run` ends after so many messages."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._random = random.Random(f"table {around.options.seed}")
        self._serial = 0
        self.written: list[Written] = []

    async def run(self, messages: int) -> None:
        while not self._around.stopping and self._serial < messages:
            await self._send([self._next() for _ in range(self._random.randint(1, BATCH_MAX))])
            await asyncio.sleep(self._random.expovariate(1 / PAUSE_MS) / 1000)

    def _next(self) -> tuple[int, str, str | None]:
        self._serial += 1
        is_tombstone = self._random.random() < TOMBSTONE_PROBABILITY
        return self._serial, f"k{self._random.randrange(KEYS)}", None if is_tombstone else f"v{self._serial}"

    async def _send(self, messages: list[tuple[int, str, str | None]]) -> None:
        around, http = self._around, self._around.http()
        if http is None:
            return
        body = json.dumps({"queue": TABLE, "messages": [_message(*each) for each in messages]}).encode()
        try:
            answer = await http.post("/messages", body, leave_after_s=LONGEST_WAIT_S)
        except ConnectionLostError:
            items: list[dict[str, Any]] = [{"code": "OUTCOME_UNKNOWN"} for _ in messages]
        else:
            items = items_of(answer, True, len(messages))
        for (serial, key, value), item in zip(messages, items, strict=True):
            outcome = outcome_of(around.code_of(item, f"a send of {key}"))
            place = parse_message_id(item["messageId"]) if outcome is Outcome.OK else None
            self.written.append(Written(serial, key, value, outcome, -1 if place is None else place.offset))
            around.coverage[f"table {outcome.name}"] += 1


def _message(serial: int, key: str, value: str | None) -> dict[str, Any]:
    message: dict[str, Any] = {"key": key, "partition": 0, "tags": [str(serial)]}
    if value is None:
        message["bodyBase64"] = ""
    else:
        message["body"] = value
    return message


class TableJudge:
    """What every replica holds in the end is judged by what was written."""

    def __init__(self, around: Surroundings) -> None:
        self.violations: list[str] = []
        self.writer = TableWriter(around)
        self._around = around

    async def look(self, machine: NodeMachine) -> None:
        """At its replica, if it has one. All are in sync, and nothing goes wrong any more."""
        node, process = machine.node, machine.process
        if node is None or process is None:
            return
        for host in replicas_of(node):
            if host.topic.name == TABLE and host.number == 0:  # it may have grown
                try:
                    found = await process.call(_records(host))
                except (ProcessDiedError, ServerError) as error:
                    self._around.coverage[f"looks at the table {type(error).__name__}"] += 1
                else:
                    self._around.coverage["tables judged"] += 1
                    self._around.coverage["table records left"] += len(found)
                    self.violations += [f"{machine.name}: {each}" for each in judge_table(self.writer.written, found)]


def judge_table(written: list[Written], found: dict[int, Record]) -> list[str]:
    """The last value of each key is there, or what may have come after it; nothing comes back; offsets are as they
    were told."""
    violations = []
    by_serial = {each.serial: each for each in written}
    left: dict[str, tuple[int, Record]] = {}
    for offset, record in sorted(found.items()):
        assert record.key is not None
        assert record.tags is not None
        sent = by_serial.get(int(record.tags[0]))
        if sent is None or sent.outcome is Outcome.FAILED:
            violations.append(f"{record} at {offset} was never sent")
        elif sent.outcome is Outcome.OK and (sent.offset, sent.key) != (offset, record.key):
            violations.append(f"{sent} is at {offset}")
        left[record.key] = offset, record
    sent_by_key: dict[str, list[Written]] = defaultdict(list)
    for each in written:
        sent_by_key[each.key].append(each)
    for key, sends in sent_by_key.items():
        surely = [each for each in sends if each.outcome is Outcome.OK]
        if not surely:
            continue
        last = max(surely, key=lambda each: each.offset)
        at, record = left.get(key, (-1, None))
        is_gone_for_good = any(each.value is None for each in [last, *_unknown(sends)])
        if record is None:
            if not is_gone_for_good:
                violations.append(f"{key} has no value, {last} was acknowledged")
        elif at < last.offset and not (is_gone_for_good and record.is_tombstone and last.value is None):
            violations.append(f"{key} is what it was at {at} ({record}), {last} was acknowledged")
    return violations


def _unknown(sends: list[Written]) -> list[Written]:
    return [each for each in sends if each.outcome is Outcome.UNKNOWN]


async def _records(host: ReplicaHost) -> dict[int, Record]:
    """What is there when nothing changes any more. A replica that was away compacts what the others have compacted long
    ago, and may take a value and its tombstone away at once: who reads across that moment sees the value alone."""
    found = await _read(host)
    for _ in range(READS_MAX):
        before, found = found, await _read(host)
        if before.keys() == found.keys():
            break
    return found


async def _read(host: ReplicaHost) -> dict[int, Record]:
    """All is committed; a follower that has just started may not have heard of it."""
    log: PartitionLog = host.logs[LogKind.MESSAGES]
    found: dict[int, Record] = {}
    offset, end = log.log_start, log.log_end
    while offset < end:
        batches = await log.read(offset, max_bytes=READ_BYTES, until=end)
        if not batches:
            break
        for header, data in batches:
            records = enumerate(decode_remaining(data, header), header.base_offset)
            found.update((at, record) for at, record in records if record is not None)
        offset = batches[-1].header.next_offset
    return found
