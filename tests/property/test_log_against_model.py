"""The log store against a model, on a disk that loses power between any two operations.

The model knows, per log, every batch that was completed and, in order, those whose outcome nobody was told. After
any end of a process the log must be the completed batches, byte for byte and at their offsets, followed by some of
the others, whole and in order; nothing else may ever appear.
"""

import asyncio
import contextlib
import os
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from acklog.wire.problems import ProblemCode
from cluster.errors import AcklogError
from storage.disk.port import DiskFailedError, DiskFullError
from storage.log.keys import LogKey, LogKind
from storage.log.partition_log import Space
from tests.sim.sim_disk import CAPACITY_BYTES_DEFAULT, SimulatedPowerLoss
from tests.support.log_harness import SMALL_LOG, Found, LogHarness, content_of, keyed_batch, opaque_batch

KEYS = [LogKey("alpha", 0, LogKind.MESSAGES), LogKey("alpha", 0, LogKind.DELIVERY), LogKey("beta", 3, LogKind.MESSAGES)]
LOGS = st.sampled_from(KEYS)

settings.register_profile("log-default", max_examples=40, stateful_step_count=25)
settings.register_profile(
    "log-thorough", max_examples=int(os.environ.get("ACKLOG_LOG_EXAMPLES", "3000")), stateful_step_count=40
)
PROFILE = settings.get_profile("log-" + os.environ.get("ACKLOG_LOG_PROFILE", "default"))


@dataclass
class ModelLog:
    """`batches` from offset 0 on, the removed ones included. A change that was under way when the process ended has
    widened what is allowed: `starts`, `shortest`, `may_be_gone`."""

    batches: list[Found] = field(default_factory=list)
    unknown: list[Found] = field(default_factory=list)
    starts: set[int] = field(default_factory=lambda: {0})
    shortest: int | None = None
    may_be_gone: bool = False
    epoch: int = 0

    @property
    def end(self) -> int:
        return self.batches[-1].next_offset if self.batches else 0

    @property
    def start(self) -> int:
        return max(self.starts)

    def expect(self, actual: list[Found], start: int, end: int) -> None:
        """Compare, and take over what turned out."""
        possible = self.batches + self.unknown
        at_least = self.shortest if self.shortest is not None else self.end
        assert start in self.starts, f"the log starts at {start}, not at one of {sorted(self.starts)}"
        expected = [batch for batch in possible if start <= batch.base_offset < end]
        assert actual == expected
        assert end >= at_least, f"the log ends at {end}, completed batches up to {at_least} are lost"
        assert end in {0, start, *(batch.next_offset for batch in possible)}
        self.batches = [batch for batch in possible if batch.next_offset <= end]
        self.unknown = []
        self.starts = {start}
        self.shortest = None
        self.may_be_gone = False


class LogAgainstModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.serial = 0
        self.model: dict[LogKey, ModelLog] = {}
        self.is_dead = False
        self.is_limited = False

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
        """The result, or None if a fault that this test made came in between."""
        try:
            return self.harness.run(work)
        except SimulatedPowerLoss:
            self.is_dead = True
        except AcklogError as error:
            self.accept(error)
        return None

    def accept(self, error: AcklogError) -> None:
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

    def appends(self, key: LogKey, sizes: list[int], *, reserved: bool = False) -> list[tuple[Any, bytes, int]]:
        model, waiting = self.model[key], []
        for size in sizes:
            self.serial += 1
            records = 1 + self.serial % 3
            batch = keyed_batch(self.serial) if size == 9 else opaque_batch(self.serial, records=records, size=size)
            records = 1 if size == 9 else records
            content = content_of(batch)
            space = Space.RESERVED if reserved else Space.NORMAL
            done = self.log(key).append(batch, leader_epoch=model.epoch, space=space)
            waiting.append((done, content, records))
        return waiting

    def settle(self, key: LogKey, waiting: list[tuple[Any, bytes, int]]) -> None:
        model = self.model[key]
        for done, content, records in waiting:
            error = done.exception()
            end = model.unknown[-1].next_offset if model.unknown else model.end
            batch = Found(end, end + records, model.epoch, content)
            if error is None:
                assert not model.unknown
                assert (done.result().base_offset, done.result().next_offset) == (batch.base_offset, batch.next_offset)
                model.batches.append(batch)
            else:
                assert isinstance(error, AcklogError)
                self.accept(error)
                if error.code is ProblemCode.STORAGE_FAILED:
                    model.unknown.append(batch)

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
            st.tuples(LOGS, st.lists(st.sampled_from([9, 16, 100, 400, 1500, 5000]), min_size=1, max_size=6)),
            min_size=1,
            max_size=4,
        ),
        reserved=st.booleans(),
    )
    def append(self, logs: list[tuple[LogKey, list[int]]], reserved: bool) -> None:
        logs = [(key, sizes) for key, sizes in logs if key in self.model]

        async def work() -> list[tuple[LogKey, list[tuple[Any, bytes, int]]]]:
            waiting = [(key, self.appends(key, sizes, reserved=reserved)) for key, sizes in logs]
            await asyncio.gather(*(done for _, some in waiting for done, _, _ in some), return_exceptions=True)
            return waiting

        for key, waiting in self.harness.run(work()):
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
        self.harness.disk.misses_cache = (lambda _: True) if max_bytes == 500 else None
        batches = self.harness.run(log.read(offset, max_bytes=max_bytes))
        self.harness.disk.misses_cache = None
        wanted = next(batch for batch in model.batches if batch.next_offset > offset)
        assert batches[0].header.base_offset == wanted.base_offset
        assert content_of(batches[0].data) == wanted.content
        by_time = self.harness.run(log.offset_at_time(batches[0].header.append_time_ms))
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
            with contextlib.suppress(SimulatedPowerLoss, DiskFailedError, DiskFullError, AcklogError):
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
            if key not in present:
                assert self.model[key].may_be_gone, f"{key} is gone"
                del self.model[key]
                continue
            log = self.harness.run(store.open_log(key, SMALL_LOG))
            self.model[key].expect(self.harness.read_all(log), log.log_start, log.log_end)
            self.model[key].epoch = max(self.model[key].epoch, log.last_leader_epoch)
        assert sorted(store.keys()) == sorted(self.model)


TestLogAgainstModel = LogAgainstModel.TestCase
TestLogAgainstModel.settings = settings(
    PROFILE, print_blob=False, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
