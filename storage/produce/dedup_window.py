"""Which idempotency keys a partition has seen within its window, and where their messages are (rules R19, R28).

A key stands for a run: one message, or what one request puts into the partition, appended in one batch. A run costs one
entry, however long it is. A key is unknown, pending (its batch is being appended) or known at an offset of one of the
partition's logs (0: that of the messages). Nothing is
forgotten before it is `window_ms` old; when the memory for keys is used up, new ones are refused instead. The keys
themselves are durable in the batches of the log, so a new leader rebuilds the window from there.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from acklog.wire.batch import DedupKey
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.rpc.messages import KeyedResult

FINGERPRINT_BYTES = 8
ENTRY_OVERHEAD_BYTES = 376
"""What an entry costs beside its key's bytes: objects, dictionary and queue slots (CPython 3.11, measured where
the dictionary has just grown, rounded up)."""

_FULL_RETRY_MS = 1000


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the window knows about a batch's keys. `pending` names the appends, by token, whose outcome decides about
    the others; where both lists are empty the batch may be appended."""

    known: list[KeyedResult]
    pending: list[int]


class _Entry:
    """`token` until it is committed, then 0 and the place of the run's first message: in which log, and where."""

    __slots__ = ("count", "expires_at_ms", "fingerprint", "leader_epoch", "log", "offset", "token")

    def __init__(self, token: int) -> None:
        self.fingerprint = b""
        self.count = 0
        self.token = token
        self.offset = -1
        self.leader_epoch = -1
        self.log = 0
        self.expires_at_ms = 0

    def hold(self, key: DedupKey) -> None:
        self.fingerprint = key.fingerprint[:FINGERPRINT_BYTES]
        self.count = key.count

    def holds(self, key: DedupKey) -> bool:
        return self.count == key.count and self.fingerprint == key.fingerprint[:FINGERPRINT_BYTES]


class DedupWindow:
    """`limit_bytes` bounds the memory for keys, pending ones included. `window_ms` may change: what is committed from
    then on goes by it."""

    def __init__(self, *, window_ms: int, limit_bytes: int) -> None:
        self.size_bytes = 0
        self.window_ms = window_ms
        self._limit_bytes = limit_bytes
        self._entries: dict[str, _Entry] = {}
        self._expiries: deque[tuple[int, str]] = deque()
        self._reserved: dict[int, list[DedupKey]] = {}
        self._last_token = 0
        self._unreadable_since_ms: int | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def check(self, keys: Iterable[DedupKey], now_ms: int) -> Verdict:
        """Raises ValueError if two runs of the batch have the same key."""
        self._expire(now_ms)
        known: list[KeyedResult] = []
        pending: dict[int, None] = {}
        seen: set[str] = set()
        for each in keys:
            if each.key in seen:
                raise ValueError(f"two runs of the batch have the key {each.key!r}")
            seen.add(each.key)
            entry = self._entries.get(each.key)
            if entry is None:
                continue
            if entry.token:
                # Even with another content: if that append fails, the key is free.
                pending[entry.token] = None
            else:
                is_conflict = not entry.holds(each)
                known.append(
                    KeyedResult(each.index, entry.offset, entry.leader_epoch, is_conflict, each.count, entry.log)
                )
        return Verdict(known, list(pending))

    def reserve(self, keys: list[DedupKey], now_ms: int) -> int:
        """Mark keys, all of them unknown, as pending; returns the token for `commit` or `abort`.

        Raises ServerError(DEDUP_WINDOW_FULL, DEDUP_WINDOW_DAMAGED), or ValueError if a key is known or twice in the
        batch; then nothing has changed.
        """
        verdict = self.check(keys, now_ms)
        if verdict.known or verdict.pending:
            raise ValueError("a key of the batch is in the window already")
        self.check_complete(now_ms)
        needed_bytes = sum(_cost_bytes(each.key) for each in keys)
        if self.size_bytes + needed_bytes > self._limit_bytes:
            oldest_ms = self._expiries[0][0] - now_ms if self._expiries else _FULL_RETRY_MS
            raise ServerError(
                ProblemCode.DEDUP_WINDOW_FULL,
                f"The keys of the last {self.window_ms} ms take {self.size_bytes} of {self._limit_bytes} bytes, "
                f"these need {needed_bytes}.",
                retry_after_ms=max(oldest_ms, 1),
            )
        self._last_token += 1
        token = self._last_token
        for each in keys:
            entry = self._entries[each.key] = _Entry(token)
            entry.hold(each)
        self.size_bytes += needed_bytes
        self._reserved[token] = keys
        return token

    def commit(self, token: int, base_offset: int, leader_epoch: int, now_ms: int, *, log: int = 0) -> None:
        """The batch was appended to `log` at `base_offset`: the window of its keys begins now. Raises KeyError for a
        token that is not pending."""
        for each in self._reserved.pop(token):
            entry = self._entries[each.key]
            entry.token = 0
            entry.log = log
            self._place(each, entry, base_offset, leader_epoch, now_ms + self.window_ms)

    def abort(self, token: int) -> None:
        """The batch was not appended: its keys are unknown again. Raises KeyError for a token that is not pending."""
        for each in self._reserved.pop(token):
            del self._entries[each.key]
            self.size_bytes -= _cost_bytes(each.key)

    def rebuild(
        self,
        keys: Iterable[DedupKey],
        base_offset: int,
        leader_epoch: int,
        *,
        age_ms: int,
        now_ms: int,
        log: int = 0,
    ) -> None:
        """Learn the keys of a batch in a log, in the order of the log; `age_ms` by its append time.

        A clock that went back makes an age negative: it counts as 0, so that nothing is forgotten early. The memory
        limit does not apply: what is in the log has to be known.
        """
        expires_at_ms = now_ms - max(age_ms, 0) + self.window_ms
        if expires_at_ms <= now_ms:
            return
        for each in keys:
            entry = self._entries.get(each.key)
            if entry is None:
                entry = self._entries[each.key] = _Entry(0)
                self.size_bytes += _cost_bytes(each.key)
            entry.hold(each)
            entry.log = log
            self._place(each, entry, base_offset, leader_epoch, expires_at_ms)

    def note_unreadable(self, *, age_ms: int, now_ms: int) -> None:
        """A batch of the log that may have had keys cannot be read; it is at least `age_ms` old."""
        since_ms = now_ms - max(age_ms, 0)
        if self._unreadable_since_ms is None or since_ms > self._unreadable_since_ms:
            self._unreadable_since_ms = since_ms

    def check_complete(self, now_ms: int) -> None:
        """Whether a key that is not here was not used within the window. Raises ServerError(DEDUP_WINDOW_DAMAGED) where
        nobody can tell: to take it for new could store a message twice, in silence."""
        if self._unreadable_since_ms is None:
            return
        left_ms = self._unreadable_since_ms + self.window_ms - now_ms
        if left_ms <= 0:
            self._unreadable_since_ms = None
            return
        raise ServerError(
            ProblemCode.DEDUP_WINDOW_DAMAGED,
            "A damaged batch may have held this idempotency key; until it is older than the topic's dedupWindowMs, "
            "only keys that are known are answered.",
            retry_after_ms=left_ms,
        )

    def next_deadline(self) -> int | None:
        """When the next key may be forgotten; every call forgets what is due, so no timer needs to be set for it."""
        return self._expiries[0][0] if self._expiries else None

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        pending = {each.key: token for token, keys in self._reserved.items() for each in keys}
        assert self.size_bytes == sum(map(_cost_bytes, self._entries))
        assert all(pending.get(key, 0) == entry.token for key, entry in self._entries.items())
        assert pending.keys() <= self._entries.keys()
        queued = {key: expires_at_ms for expires_at_ms, key in self._expiries}
        for key, entry in self._entries.items():
            assert entry.token or queued.get(key) == entry.expires_at_ms, f"{key!r} will never be forgotten"

    def _place(self, each: DedupKey, entry: _Entry, base_offset: int, leader_epoch: int, expires_at_ms: int) -> None:
        entry.offset = base_offset + each.index
        entry.leader_epoch = leader_epoch
        # The queue stays in order: append times may go backwards, then the younger batch's keys stay a little longer.
        if self._expiries:
            expires_at_ms = max(expires_at_ms, self._expiries[-1][0])
        entry.expires_at_ms = expires_at_ms
        self._expiries.append((expires_at_ms, each.key))

    def _expire(self, now_ms: int) -> None:
        expiries = self._expiries
        while expiries and expiries[0][0] <= now_ms:
            expires_at_ms, key = expiries.popleft()
            entry = self._entries.get(key)
            # A key that was used again has a later place in the queue; a rebuilt one may have several.
            if entry is not None and not entry.token and entry.expires_at_ms == expires_at_ms:
                del self._entries[key]
                self.size_bytes -= _cost_bytes(key)


def _cost_bytes(key: str) -> int:
    return ENTRY_OVERHEAD_BYTES + len(key.encode())


def check_runs(keys: Iterable[DedupKey], count: int) -> None:
    """Raises ValueError for a key that covers more than the `count` records of its batch: it would be answered with the
    places of other messages."""
    for key in keys:
        if key.index < 0 or key.count < 1 or key.index + key.count > count:
            raise ValueError(f"the key {key.key!r} covers {key.count} record(s) from {key.index} on, there are {count}")
