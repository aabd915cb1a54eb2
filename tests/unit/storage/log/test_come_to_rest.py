"""A log between two roles: what waits is refused, what is under way ends, and nothing of it is left behind."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.disk.executor import Then
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from tests.sim.inline_executor import InlineExecutor
from tests.sim.sim_disk import CAPACITY_BYTES_DEFAULT
from tests.support.log_harness import SMALL_LOG, LogHarness, opaque_batch, stamped_run

KEY = LogKey("alpha", 0, LogKind.MESSAGES)
OTHER = LogKey("alpha", 0, LogKind.DELIVERY)


@pytest.fixture
def harness() -> Iterator[LogHarness]:
    harness = LogHarness()
    harness.open()
    yield harness
    harness.dispose()


OVER = ServerError(ProblemCode.UNAVAILABLE, "the role is over")


class GatedRounds(InlineExecutor):
    """Rounds are written when `gate` is called."""

    def __init__(self) -> None:
        super().__init__()
        self._begun: list[tuple[Callable[[], object], Then]] = []

    def start(self, function: Callable[[], object], then: Then) -> None:
        self._begun.append((function, then))

    def gate(self) -> None:
        for function, then in self._begun:
            super().start(function, then)
        self.start = super().start  # type: ignore[method-assign]


def test_coming_to_rest_fails_what_waits_and_waits_for_what_is_under_way(harness: LogHarness) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        other = await harness.store.open_log(OTHER, SMALL_LOG)
        harness.store._engine.io = rounds = GatedRounds()
        begun = log.append_stamped(stamped_run(0, range(2), leader_epoch=3))
        await asyncio.sleep(0)
        waiting = [
            log.append_stamped(stamped_run(2, range(2, 3), leader_epoch=4)),
            log.append(opaque_batch(7), leader_epoch=5),
        ]
        elsewhere = other.append(opaque_batch(8), leader_epoch=1)
        resting = asyncio.ensure_future(log.come_to_rest(OVER))
        await asyncio.sleep(0)
        assert [each.exception() for each in waiting] == [OVER] * 2
        late = log.append_stamped(stamped_run(2, range(2, 3), leader_epoch=4))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not resting.done()
        rounds.gate()
        await resting
        assert begun.done()
        assert late.exception() is OVER
        assert log.log_end == 2
        assert (await elsewhere).base_offset == 0
        # What was refused has left no trace: the next role may be of an epoch in between.
        assert (await log.append_stamped(stamped_run(2, range(2, 3), leader_epoch=3))).next_offset == 3
        assert (await log.append(opaque_batch(9), leader_epoch=4)).next_offset == 4

    harness.run(main())


def test_coming_to_rest_lets_a_cut_and_a_new_beginning_end_first(harness: LogHarness) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        await log.append_stamped(stamped_run(0, range(9)))
        cutting = asyncio.ensure_future(log.truncate_to(4))
        resetting = asyncio.ensure_future(log.reset_to(30))
        await asyncio.sleep(0)
        waiting = log.append(opaque_batch(1), leader_epoch=1)
        await log.come_to_rest(OVER)
        assert cutting.done()
        assert resetting.done()
        assert waiting.exception() is OVER
        assert log.log_end == 30

    harness.run(main())


def test_coming_to_rest_again_and_with_nothing_to_do(harness: LogHarness) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        await log.come_to_rest(OVER)
        log.append(opaque_batch(0), leader_epoch=0)
        await asyncio.sleep(0)
        await asyncio.gather(log.come_to_rest(OVER), log.come_to_rest(OVER))
        assert log.log_end == 1

    harness.run(main())


@pytest.mark.parametrize("turns", range(6))
def test_a_cancelled_rest_keeps_nothing_held(harness: LogHarness, turns: int) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        log.append(opaque_batch(0), leader_epoch=0)
        await asyncio.sleep(0)
        resting = asyncio.ensure_future(log.come_to_rest(OVER))
        for _ in range(turns):
            await asyncio.sleep(0)
        resting.cancel()
        await asyncio.gather(resting, return_exceptions=True)
        assert (await log.append(opaque_batch(1), leader_epoch=0)).next_offset == 2
        await log.truncate_to(0)

    harness.run(main())


def test_at_a_failed_disk_rest_comes_too(harness: LogHarness) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        harness.disk.fail_next_sync()
        begun = log.append(opaque_batch(0), leader_epoch=0)
        await asyncio.sleep(0)
        await log.come_to_rest(OVER)
        assert begun.done()
        assert harness.store.failure is not None
        with pytest.raises(ServerError, match="STORAGE_FAILED"):
            await begun

    harness.run(main())


def test_who_is_told_of_a_refusal_may_append_at_once(harness: LogHarness) -> None:
    """A waiter that is told in the same turn begins anew where the log ends now."""

    class AppendsAgain:
        def __init__(self, log: PartitionLog) -> None:
            self.log = log
            self.again: list[asyncio.Future[object]] = []

        def done(self) -> bool:
            return False

        def set_result(self, result: object, /) -> None:
            raise AssertionError("the append was to fail")

        def set_exception(self, exception: BaseException, /) -> None:
            self.again.append(self.log.append_stamped(stamped_run(0, range(3))))  # type: ignore[arg-type]

    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        waiter = AppendsAgain(log)
        harness.disk.capacity_bytes = harness.disk.used_bytes + 100
        log.append_stamped_and_tell(stamped_run(0, range(2), size=5000, leader_epoch=7), waiter)
        while not waiter.again:
            await asyncio.sleep(0)
        harness.disk.capacity_bytes = CAPACITY_BYTES_DEFAULT
        assert await waiter.again[0] == (0, 0, 3)

    harness.run(main())
