"""The log store against a model, on a disk that loses power between any two operations.

The model knows, per log, every batch that was completed and, in order, those whose outcome nobody was told. After
any end of a process the log must be the completed batches, byte for byte and at their offsets, followed by some of
the others, whole and in order; nothing else may ever appear.
"""

import asyncio
import contextlib
import os
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from acklog.wire.batch import read_header
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.disk.port import DiskFailedError, DiskFullError
from storage.log.keys import LogKey
from storage.log.log_queue import Appended
from storage.log.log_table import LogKind, Space
from storage.log.partition_log import PartitionLog
from storage.log.segment_reader import StoredBatch
from tests.sim.sim_disk import CAPACITY_BYTES_DEFAULT, SimulatedPowerLoss
from tests.support.log_harness import (
    SMALL_LOG,
    SMALL_STORE,
    Found,
    LogHarness,
    content_of,
    found_in,
    keyed_batch,
    opaque_batch,
    stamped,
)

KEYS = [LogKey("alpha", 0, LogKind.MESSAGES), LogKey("alpha", 0, LogKind.DELIVERY), LogKey("beta", 3, LogKind.MESSAGES)]
LOGS = st.sampled_from(KEYS)
SIZES = st.sampled_from([9, 16, 100, 400, 1500, 5000])
STAMPED_CALLS = st.lists(
    st.lists(st.tuples(SIZES, st.sampled_from([0, 0, 0, 1, 3]), st.sampled_from([0, 1, 5000])), min_size=1, max_size=6),
    min_size=1,
    max_size=3,
)
AHEAD_MS = st.sampled_from([0, 1, 200_000])

settings.register_profile("log-default", max_examples=40, stateful_step_count=25)
settings.register_profile(
    "log-thorough", max_examples=int(os.environ.get("ACKLOG_LOG_EXAMPLES", "3000")), stateful_step_count=40
)
PROFILE = settings.get_profile("log-" + os.environ.get("ACKLOG_LOG_PROFILE", "default"))


@dataclass
class ModelLog:
    """`batches` from `origin` on, where the log began, the removed ones included. A change that was under way when the
    process ended has widened what is allowed: `starts`, `shortest`, `may_be_gone`, `new_origin`."""

    batches: list[Found] = field(default_factory=list)
    unknown: list[Found] = field(default_factory=list)
    starts: set[int] = field(default_factory=lambda: {0})
    shortest: int | None = None
    may_be_gone: bool = False
    epoch: int = 0
    origin: int = 0
    new_origin: int | None = None

    @property
    def end(self) -> int:
        return self.batches[-1].next_offset if self.batches else self.origin

    @property
    def queued_end(self) -> int:
        """With what nobody knows of."""
        return self.unknown[-1].next_offset if self.unknown else self.end

    @property
    def start(self) -> int:
        return max(self.starts)

    def expect(self, actual: list[Found], start: int, end: int) -> None:
        """Compare, and take over what turned out."""
        if self.new_origin is not None and start == end == self.new_origin:
            self.begin_anew(end)
        possible = self.batches + self.unknown
        at_least = self.shortest if self.shortest is not None else self.end
        assert start in self.starts, f"the log starts at {start}, not at one of {sorted(self.starts)}"
        expected = [batch for batch in possible if start <= batch.base_offset < end]
        assert actual == expected
        assert end >= at_least, f"the log ends at {end}, completed batches up to {at_least} are lost"
        assert end in {self.origin, start, *(batch.next_offset for batch in possible)}
        self.batches = [batch for batch in possible if batch.next_offset <= end]
        self.unknown = []
        self.starts = {start}
        self.shortest = None
        self.may_be_gone = False
        self.new_origin = None

    def begin_anew(self, offset: int) -> None:
        """Nothing is left, and the log begins at `offset`."""
        self.batches, self.unknown = [], []
        self.starts = {offset}
        self.shortest = None
        self.origin = offset


class Part(NamedTuple):
    """A batch of an append."""

    content: bytes
    records: int
    epoch: int


class Waiting(NamedTuple):
    """An append that was asked for, and what is in it."""

    done: "asyncio.Future[Appended]"
    parts: list[Part]


class LogAgainstModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.serial = 0
        self.model: dict[LogKey, ModelLog] = {}
        self.is_dead = False
        self.is_limited = False
        self.stamped: dict[bytes, bytes] = {}  # content → the batch with its stamp, of those that other leaders made
        self.rest = ServerError(ProblemCode.UNAVAILABLE, "the role is over")
        self.times_ms: dict[bytes, int] = {}  # content → append time, as far as it was told or seen

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        self.harness = LogHarness(seed=seed)
        self.harness.open()
        for key in KEYS[:2]:
            self.harness.run(self.harness.store.open_log(key, SMALL_LOG))
            self.model[key] = ModelLog()

    def teardown(self) -> None:
        if hasattr(self, "harness"):
            self.harness.disk.capacity_bytes = CAPACITY_BYTES_DEFAULT
            self.restart(power_loss=True, crashes=[])
            self.harness.dispose()

    # --- doing something that may fail ---------------------------------------------------------------------------

    def attempt(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The result, or None if a fault that this test made came in between, or before it in a background sync."""
        try:
            return self.harness.run(work)
        except SimulatedPowerLoss:
            self.is_dead = True
        except ServerError as error:
            self.accept(error)
        return None

    def accept(self, error: ServerError) -> None:
        if error.code is ProblemCode.STORAGE_FULL:
            assert self.is_limited, error
        elif self.harness.store.failure is not None:
            assert error.code is ProblemCode.STORAGE_FAILED
            self.is_dead = True
        else:
            raise error

    def log(self, key: LogKey) -> Any:
        return self.harness.store._logs[key]

    def present_keys(self) -> list[LogKey]:
        return self.harness.store.keys()

    def known(self, key: LogKey) -> bool:
        return not self.is_dead and key in self.model

    def appends(self, key: LogKey, sizes: list[int]) -> list[Waiting]:
        model, waiting = self.model[key], []
        for size in sizes:
            batch, records = self.new_batch(size)
            part = Part(content_of(batch), records, model.epoch)
            waiting.append(Waiting(self.log(key).append(batch, leader_epoch=model.epoch), [part]))
        return waiting

    def stamped_appends(self, key: LogKey, calls: list[list[tuple[int, int, int]]], ahead_ms: int) -> list[Waiting]:
        """Each call appends batches of (size, epochs that have passed, ms that have passed) of other leaders, whose
        clocks are `ahead_ms` of the last one that this log has had."""
        log, model = self.log(key), self.model[key]
        offset = model.end
        epoch = max(log.last_leader_epoch, 0)
        time_ms = ahead_ms + (self.times_ms[model.batches[-1].content] if model.batches else 0)
        waiting = []
        for call in calls:
            data, parts = bytearray(), []
            for size, epochs, passed_ms in call:
                if len(data) > SMALL_STORE.journal_file_bytes // 2:
                    break
                batch, records = self.new_batch(size)
                epoch += epochs
                time_ms += passed_ms
                whole = stamped(batch, base_offset=offset, leader_epoch=epoch, append_ms=time_ms)
                parts.append(Part(content_of(whole), records, epoch))
                self.stamped[parts[-1].content] = whole
                self.times_ms[parts[-1].content] = time_ms
                data += whole
                offset += records
            kind = (bytes, bytearray, memoryview)[self.serial % 3]
            waiting.append(Waiting(log.append_stamped(kind(data)), parts))
        model.epoch = max(model.epoch, epoch)
        return waiting

    def new_batch(self, size: int) -> tuple[bytearray, int]:
        self.serial += 1
        if size == 9:
            return keyed_batch(self.serial), 1
        records = 1 + self.serial % 3
        return opaque_batch(self.serial, records=records, size=size), records

    def settle(self, key: LogKey, waiting: list[Waiting]) -> None:
        """Each append is whole, or whole and unknown, or not there; offsets follow the order of the calls."""
        model = self.model[key]
        for done, parts in waiting:
            error = done.exception()
            base = end = model.queued_end
            batches = []
            for part in parts:
                batches.append(Found(end, end + part.records, part.epoch, part.content))
                end += part.records
            if error is None:
                assert not model.unknown
                appended = done.result()
                assert (appended.base_offset, appended.next_offset) == (base, end)
                model.batches += batches
                self.times_ms.setdefault(parts[-1].content, appended.append_time_ms)
                assert self.times_ms[parts[-1].content] == appended.append_time_ms
            elif error is not self.rest:
                assert isinstance(error, ServerError)
                if error.code is not ProblemCode.CONFLICT:  # the one before it in the queue says why
                    self.accept(error)
                if error.code is ProblemCode.STORAGE_FAILED:
                    model.unknown += batches

    # --- rules ---------------------------------------------------------------------------------------------------

    @precondition(lambda self: not self.is_dead)
    @rule(key=LOGS)
    def open_log(self, key: LogKey) -> None:
        if key in self.model:
            return
        self.model[key] = ModelLog(may_be_gone=True)
        if self.attempt(self.harness.store.open_log(key, SMALL_LOG)) is not None:
            self.model[key].may_be_gone = False
        elif not self.is_dead:
            del self.model[key]

    @precondition(lambda self: not self.is_dead)
    @rule(
        logs=st.lists(
            st.tuples(LOGS, st.lists(SIZES, min_size=1, max_size=6)),
            min_size=1,
            max_size=4,
        ),
        space=st.sampled_from(Space),
    )
    def append(self, logs: list[tuple[LogKey, list[int]]], space: Space) -> None:
        logs = [(key, sizes) for key, sizes in logs if key in self.model]

        async def work() -> list[tuple[LogKey, list[Waiting]]]:
            for key, _ in logs:
                self.log(key)._state.settings = replace(SMALL_LOG, space=space)
            waiting = [(key, self.appends(key, sizes)) for key, sizes in logs]
            await asyncio.gather(*(each.done for _, some in waiting for each in some), return_exceptions=True)
            return waiting

        for key, waiting in self.attempt(work()) or []:
            self.settle(key, waiting)

    @precondition(lambda self: not self.is_dead)
    @rule(key=LOGS, calls=STAMPED_CALLS, ahead_ms=AHEAD_MS, own=st.lists(SIZES, max_size=2))
    def append_stamped(
        self, key: LogKey, calls: list[list[tuple[int, int, int]]], ahead_ms: int, own: list[int]
    ) -> None:
        if not self.known(key):
            return

        async def work() -> list[Waiting]:
            waiting = [*self.stamped_appends(key, calls, ahead_ms), *self.appends(key, own)]
            await asyncio.gather(*(each.done for each in waiting), return_exceptions=True)
            return waiting

        self.settle(key, self.attempt(work()) or [])

    @precondition(lambda self: not self.is_dead)
    @rule(key=LOGS, calls=STAMPED_CALLS, ahead_ms=AHEAD_MS, own=st.lists(SIZES, max_size=3), turns=st.integers(0, 4))
    def come_to_rest(
        self, key: LogKey, calls: list[list[tuple[int, int, int]]], ahead_ms: int, own: list[int], turns: int
    ) -> None:
        if not self.known(key):
            return
        log = self.log(key)

        async def work() -> list[Waiting]:
            waiting = self.stamped_appends(key, calls, ahead_ms)
            for _ in range(turns):
                await asyncio.sleep(0)
            waiting += self.appends(key, own) if self.harness.store.failure is None else []
            await log.come_to_rest(self.rest)
            assert all(each.done.done() for each in waiting)
            end = log.log_end
            for _ in range(5):
                await asyncio.sleep(0)
            assert log.log_end == end
            return waiting

        waiting = self.attempt(work())
        if waiting is not None:
            self.settle(key, waiting)

    @rule(key=LOGS)
    def raise_epoch(self, key: LogKey) -> None:
        if key in self.model:
            self.model[key].epoch += 1

    @rule(by_ms=st.sampled_from([1, 1000, 100_000]))
    def pass_time(self, by_ms: int) -> None:
        self.harness.run(self.harness.clock.advance_ms(by_ms))

    @precondition(lambda self: not self.is_dead)
    @rule()
    def sync(self) -> None:
        self.attempt(self.harness.store.sync())

    @precondition(lambda self: not self.is_dead)
    @rule(key=LOGS, fraction=st.floats(0, 1))
    def truncate(self, key: LogKey, fraction: float) -> None:
        if not self.known(key):
            return
        log, model = self.log(key), self.model[key]
        offset = round(log.log_start + (log.log_end - log.log_start) * fraction)
        kept = [batch for batch in model.batches if batch.next_offset <= offset]
        shortest = max(kept[-1].next_offset if kept else 0, log.log_start)
        self.attempt(log.truncate_to(offset))
        if self.is_dead:
            model.shortest = shortest
        elif log.log_end != model.end:
            assert log.log_end == shortest
            model.batches = kept

    @precondition(lambda self: not self.is_dead)
    @rule(key=LOGS, fraction=st.floats(0, 1.5), at_segment=st.booleans())
    def reset(self, key: LogKey, fraction: float, at_segment: bool) -> None:
        if not self.known(key):
            return
        log, model = self.log(key), self.model[key]
        offset = round(log.log_end * fraction)
        if at_segment:
            offset = log._state.segments[offset % len(log._state.segments)].base_offset
        self.attempt(log.reset_to(offset))
        if self.is_dead:
            model.new_origin = offset
        elif not self.is_limited or (log.log_start, log.log_end, log.leader_epochs.entries()) == (offset, offset, []):
            assert (log.log_start, log.log_end, log.leader_epochs.entries()) == (offset, offset, [])
            model.begin_anew(offset)

    @precondition(lambda self: not self.is_dead)
    @rule(key=LOGS, fraction=st.floats(0, 1))
    def remove_before(self, key: LogKey, fraction: float) -> None:
        if not self.known(key):
            return
        log, model = self.log(key), self.model[key]
        offset = round(log.log_start + (log.log_end - log.log_start) * fraction)
        bases = [segment.base_offset for segment in log._state.segments]
        self.attempt(log.remove_before(offset))
        self.started(model, log, bases, offset)

    def started(self, model: ModelLog, log: Any, bases: list[int], limit: int) -> None:
        if self.is_dead:
            model.starts |= {base for base in [*bases, model.end] if base <= limit}
        else:
            assert model.start <= log.log_start <= limit
            model.starts = {log.log_start}

    @precondition(lambda self: not self.is_dead)
    @rule(key=LOGS, age=st.sampled_from([-1, 0, 500, 50_000]), size=st.sampled_from([-1, 0, 3000]), keyed=st.booleans())
    def retain(self, key: LogKey, age: int, size: int, keyed: bool) -> None:
        if not self.known(key):
            return
        log, model = self.log(key), self.model[key]
        bases = [segment.base_offset for segment in log._state.segments]
        keep_keyed_after_ms = self.harness.clock.now_ms() - 2000 if keyed else None
        self.attempt(log.retain(retention_ms=age, retention_bytes=size, keep_keyed_after_ms=keep_keyed_after_ms))
        self.started(model, log, bases, model.end)

    @precondition(lambda self: not self.is_dead)
    @rule(key=LOGS)
    def remove_log(self, key: LogKey) -> None:
        if not self.known(key):
            return
        self.attempt(self.harness.store.remove_log(key))
        if self.is_dead:
            self.model[key].may_be_gone = True
        elif key not in self.present_keys():
            del self.model[key]

    @precondition(lambda self: not self.is_dead)
    @rule(key=LOGS, offset=st.integers(0, 300), max_bytes=st.sampled_from([1, 500, 100_000]))
    def read(self, key: LogKey, offset: int, max_bytes: int) -> None:
        if not self.known(key):
            return
        log, model = self.log(key), self.model[key]
        if not log.log_start <= offset < log.log_end:
            return

        async def work() -> tuple[list[StoredBatch], int]:
            batches = await log.read(offset, max_bytes=max_bytes)
            return batches, await log.offset_at_time(batches[0].header.append_time_ms)

        self.harness.disk.misses_cache = (lambda _: True) if max_bytes == 500 else None
        found = self.attempt(work())
        self.harness.disk.misses_cache = None
        if found is None:
            assert self.is_dead, "only a background sync that failed meanwhile ends a read"
            return
        batches, by_time = found
        wanted = next(batch for batch in model.batches if batch.next_offset > offset)
        assert batches[0].header.base_offset == wanted.base_offset
        assert content_of(batches[0].data) == wanted.content
        assert by_time <= batches[0].header.base_offset

    # --- faults --------------------------------------------------------------------------------------------------

    @precondition(lambda self: not self.is_dead)
    @rule(after=st.integers(0, 25))
    def crash_after(self, after: int) -> None:
        self.harness.disk.crash_after_operations(after)

    @precondition(lambda self: not self.is_dead)
    @rule()
    def fail_next_sync(self) -> None:
        self.harness.disk.fail_next_sync()

    @precondition(lambda self: not self.is_dead)
    @rule()
    def fail_next_sync_directory(self) -> None:
        self.harness.disk.fail_next_sync_directory()

    @rule(left=st.sampled_from([0, 500, 3000, 30_000]))
    def limit_space(self, left: int) -> None:
        self.harness.disk.capacity_bytes = self.harness.disk.used_bytes + left
        self.is_limited = True

    @rule()
    def give_space(self) -> None:
        self.harness.disk.capacity_bytes = CAPACITY_BYTES_DEFAULT
        self.is_limited = False

    @precondition(lambda self: not self.is_dead)
    @rule()
    def stop_orderly(self) -> None:
        self.attempt(self.harness.store.close())
        self.restart(power_loss=False, crashes=[])

    @rule(power_loss=st.booleans(), crashes=st.lists(st.integers(0, 40), max_size=3))
    def restart(self, power_loss: bool, crashes: list[int]) -> None:
        """End the process, let the next ones crash while they recover, and look at what the last one finds."""
        self.end_process(power_loss=power_loss)
        for number, after in enumerate(crashes):
            self.harness.disk.crash_after_operations(after)
            with contextlib.suppress(SimulatedPowerLoss, DiskFailedError, DiskFullError, ServerError):
                self.harness.open()
            self.end_process(power_loss=bool(number % 2))
        self.harness.disk.capacity_bytes = CAPACITY_BYTES_DEFAULT
        self.is_limited = self.is_dead = False
        self.harness.disk.fail_next_sync(0)
        self.harness.disk.fail_next_sync_directory(0)
        store = self.harness.open()
        assert store.failure is None, store.failure
        assert not store.report.refused
        assert not store.report.corrupt_places
        self.compare()

    def end_process(self, *, power_loss: bool) -> None:
        if power_loss:
            self.harness.lose_power()
        else:
            self.harness.kill()

    def compare(self) -> None:
        store = self.harness.store
        present = store.keys()
        for key in list(self.model):
            if key not in present and self.model[key].may_be_gone:
                del self.model[key]
                continue
            # One that never held anything has no files, so it is empty at offset 0 when it is opened.
            log = self.harness.run(store.open_log(key, SMALL_LOG))
            batches = self.harness.read_bytes(log)
            self.model[key].expect([found_in(batch) for batch in batches], log.log_start, log.log_end)
            for batch in batches:
                self.compare_stamp(batch, log)
            if not self.model[key].batches:
                assert log.leader_epochs.entries() == []
            self.model[key].epoch = max(self.model[key].epoch, log.last_leader_epoch)
        assert sorted(store.keys()) == sorted(self.model)

    def compare_stamp(self, batch: bytes, log: PartitionLog) -> None:
        """A batch that another leader stamped is the same to the byte, and every batch has its epoch in the table."""
        header = read_header(batch)
        content = content_of(batch)
        assert self.stamped.get(content, batch) == batch
        assert self.times_ms.setdefault(content, header.append_time_ms) == header.append_time_ms
        assert log.leader_epochs.epoch_at(header.base_offset) == header.leader_epoch


TestLogAgainstModel = LogAgainstModel.TestCase
TestLogAgainstModel.settings = settings(
    PROFILE, print_blob=False, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@pytest.mark.parametrize("key", KEYS[:2], ids=str)
def test_what_a_start_did_not_find_stays_gone(key: LogKey) -> None:
    """Found: the process ends while an append is taken back on a full disk, and the power fails in the second start
    that follows. What was cut off by then was there again in the third."""
    steps = LogAgainstModel()
    steps.begin(1869)
    steps.restart(power_loss=False, crashes=[])
    steps.limit_space(3000)
    steps.remove_before(KEYS[0], 0.2776)
    steps.crash_after(10)
    steps.append([(key, [400, 400, 5000, 9])], space=Space.NORMAL)
    steps.limit_space(0)
    steps.restart(power_loss=False, crashes=[])
    steps.restart(power_loss=False, crashes=[0, 4])
    steps.teardown()
