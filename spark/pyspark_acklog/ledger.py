"""Where the topics ended before a task wrote its first row: from there on the log is searched when the task is retried.

The ledger is a topic (LEDGER_TOPIC) with one partition and no limit of its retention. A task adds its entry before its
first request. Of several entries with one identity the first in the log counts: its positions were taken before it was
added, and nobody writes rows before an entry of his identity is there. So no row of the identity lies before them.
"""

from dataclasses import dataclass

import msgspec

from acklog import Client
from acklog.errors import Forbidden, IdempotencyKeyReused, TopicNotFound
from pyspark_acklog.failures import WriteError
from pyspark_acklog.plan import described_topic
from pyspark_acklog.write_identity import TaskIdentity, parse_identity

LEDGER_TOPIC = "acklog-spark-writes"
LEDGER_PARTITION = 0
NO_LIMIT = -1
SCAN_OFFSETS = 512
"""Entries that the first look back takes in; each further one takes in twice as many."""
PAGE_BYTES = 1024 * 1024
ROUNDS_MAX = 5


class Entry(msgspec.Struct, rename="camel"):
    """`positions` are the high watermarks of the partitions, by number; `partitions` and `decommissioned` as the topic
    had them: what decides where rows go, also if the topic has grown before a retry."""

    identity: str
    topic: str
    topic_id: str
    partitions: int
    decommissioned: list[int]
    positions: dict[str, int]


@dataclass(frozen=True, slots=True)
class Begun:
    """`is_retry`: an attempt before this one may have written rows."""

    entry: Entry
    is_retry: bool


class Ledger:
    """`since` is an offset of the ledger before which there can be no entry of this write."""

    def __init__(self, client: Client, *, since: int, timeout_s: float) -> None:
        self._client = client
        self._since = since
        self._timeout_s = timeout_s

    def begin(self, identity: TaskIdentity, topic: str) -> Begun:
        """The entry that counts for the task's rows for a topic, added if there is none. Raises AcklogError."""
        for _ in range(ROUNDS_MAX):
            found, seen_until = self._find(identity, topic)
            if found is not None:
                return Begun(found, is_retry=True)
            entry = self._entry(identity, topic)
            key = f"{identity}/begin/{topic}"
            try:
                # The topic's name may be too long for a key: then other attempts are told apart by the log alone.
                sent = self._client.send(
                    LEDGER_TOPIC,
                    msgspec.to_builtins(entry),
                    partition=LEDGER_PARTITION,
                    idempotency_key=key if len(key) <= 100 else None,
                )
            except IdempotencyKeyReused:
                continue  # another attempt has just begun
            before = self._first(identity, topic, seen_until, sent.offset or 0)
            return Begun(entry, is_retry=False) if before is None else Begun(before, is_retry=True)
        raise WriteError(f"other attempts of task {identity} begin at the same time, again and again")

    def _entry(self, identity: TaskIdentity, topic: str) -> Entry:
        described = described_topic(self._client, topic, deadline_s=self._timeout_s)
        positions = {
            str(each.partition): each.high_watermark
            for each in described.partition_states
            if each.high_watermark is not None
        }
        decommissioned = list(described.decommissioned)
        return Entry(str(identity), described.name, described.id, described.partitions, decommissioned, positions)

    def _find(self, identity: TaskIdentity, topic: str) -> tuple[Entry | None, int]:
        """The task's first entry, and where the ledger ended. Looks back from the end, farther and farther, until an
        entry of the same write is two epochs older: what it did since then lies behind."""
        state = self._client.topics.partition(LEDGER_TOPIC, LEDGER_PARTITION)
        end = state.high_watermark or 0
        lowest = max(self._since, state.log_start or 0)
        start, reach = end, SCAN_OFFSETS
        found: Entry | None = None
        while start > lowest:
            start, stop = max(lowest, start - reach), start
            reach *= 2
            is_older_seen = False
            for entry in reversed(self._entries(start, stop)):
                other = parse_identity(entry.identity)
                if other is None or other.write_id != identity.write_id:
                    continue
                if other == identity and entry.topic == topic:
                    found = entry  # the last one that is found this way is the first in the log
                is_older_seen |= other.epoch < identity.epoch - 1
            if is_older_seen:
                break
        return found, end

    def _first(self, identity: TaskIdentity, topic: str, start: int, stop: int) -> Entry | None:
        for entry in self._entries(start, stop):
            if entry.identity == str(identity) and entry.topic == topic:
                return entry
        return None

    def _entries(self, start: int, stop: int) -> list[Entry]:
        """What stands at [start, stop)."""
        found: list[Entry] = []
        while start < stop:
            page = self._client.records(LEDGER_TOPIC, LEDGER_PARTITION, offset=start, max_bytes=PAGE_BYTES)
            for message in page.messages:
                if message.offset < stop:
                    try:
                        found.append(message.body_as(Entry))
                    except (msgspec.MsgspecError, UnicodeDecodeError):
                        continue  # somebody else's message
            if page.next_offset <= start:
                break
            start = page.next_offset
        return found


def open_ledger(client: Client) -> int:
    """Make sure that there is a ledger, and say where it ends. Raises AcklogError, WriteError."""
    try:
        state = client.topics.partition(LEDGER_TOPIC, LEDGER_PARTITION)
    except TopicNotFound:
        try:
            client.topics.create(LEDGER_TOPIC, 1, retention="time", retention_ms=NO_LIMIT, retention_bytes=NO_LIMIT)
        except Forbidden:
            raise WriteError(
                f"there is no topic {LEDGER_TOPIC!r}, and the token may not create it: create it once with one "
                "partition and retentionMs -1, or write with writeIdentity=window"
            ) from None
        state = client.topics.partition(LEDGER_TOPIC, LEDGER_PARTITION)
    return state.high_watermark or 0
