"""The run: a server, a producer, two groups of consumers and somebody who kills the server; then the verification."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager

from acklog.client.async_client import AsyncClient
from app.demo.consuming import Consuming
from app.demo.display import RunDisplay
from app.demo.group_ledger import GroupLedger
from app.demo.input_file import FlightFile
from app.demo.killer import Killer
from app.demo.options import SHARED_GROUP, SINGLE_GROUP, TOPIC, Options
from app.demo.outcome import RunOutcome
from app.demo.pace import Pace
from app.demo.pauses import Pauses
from app.demo.run_journal import RunJournal
from app.demo.scene import Scene
from app.demo.send_ledger import SendLedger
from app.demo.sending import Sending
from app.demo.verification import Verification
from app.demo.witness import Witness
from app.demo.work import Work, watch_for_stalls

REFRESH_S = 0.1


class DeadlineError(RuntimeError):
    """The whole run took longer than it may."""


async def run(options: Options, source: FlightFile, scene: Scene, display: RunDisplay) -> RunOutcome:
    """Everything; the scene is stopped at the end. Raises DeadlineError, StalledError, ServerFailedError, InputError,
    AcklogError."""
    work = Work(options.messages, (SINGLE_GROUP, SHARED_GROUP))
    try:
        with _quiet_sdk():
            async with asyncio.timeout(options.deadline_s):
                return await _Run(options, source, scene, work, display).run()
    except TimeoutError:
        raise DeadlineError(f"not finished within {options.deadline_s:.0f} s: {work.describe()}") from None
    except ExceptionGroup as group:
        raise _first_of(group) from None
    finally:
        await scene.stop()


class _Run:
    def __init__(self, options: Options, source: FlightFile, scene: Scene, work: Work, display: RunDisplay) -> None:
        self._options = options
        self._source = source
        self._scene = scene
        self._work = work
        self._display = display
        now_s = asyncio.get_running_loop().time
        self._journal = RunJournal(work, now_s, display.tell)
        self._sent = SendLedger()
        self._groups = [GroupLedger(group) for group in work.done]
        pauses = Pauses(now_s)
        self._witness = Witness(scene.transport(), self._groups, work, pauses)
        self._pace = Pace(options.messages, options.kills, options.messages_per_s)
        self._killer = Killer(scene.victims(), work, self._journal, pauses, self._kill_is_over)

    def _kill_is_over(self) -> None:
        self._pace.kills_over += 1

    async def run(self) -> RunOutcome:
        outcome = RunOutcome(self._source.name, self._work.total, len(self._groups), self._journal.timeline)
        outcome.restarts = self._killer.restarts
        outcome.statistics = self._witness.statistics
        outcome.start_s = await self._scene.start()
        self._journal.note(f"{self._scene.name} is ready on {self._scene.url}")
        async with AsyncClient(transport=self._witness) as client, asyncio.TaskGroup() as tasks:
            showing = tasks.create_task(self._show())
            await client.topics.create(TOPIC, self._options.partitions)
            await self._do_work(client, outcome)
            self._journal.note("everything is done; now the log is read back and compared")
            outcome.verifying_s = await _timed(lambda: self._verify(client, outcome))
            showing.cancel()
        self._display.refresh(self._journal)
        return outcome

    async def _do_work(self, client: AsyncClient, outcome: RunOutcome) -> None:
        now_s = asyncio.get_running_loop().time
        began_s = now_s()
        self._journal.work_began()
        consumers = self._consumers(client)
        sending = Sending(client, self._source, self._sent, self._work, self._pace)

        async def send() -> None:
            await sending.run(self._options)
            outcome.sending_s = now_s() - began_s

        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(watch_for_stalls(self._work, stall_s=self._options.stall_s))
            working: list[Coroutine[None, None, None]] = [send(), self._killer.run()]
            working.append(consumers[0].run_batches())
            working += [consumer.run_handlers() for consumer in consumers[1:]]
            await asyncio.gather(*[tasks.create_task(each) for each in working])
            watching.cancel()
        outcome.working_s = now_s() - began_s
        outcome.deliveries = sum(ledger.deliveries for ledger in self._groups)
        outcome.redeliveries = sum(ledger.redeliveries for ledger in self._groups)
        outcome.stale_receipts = sum(consumer.stale_receipts for consumer in consumers)

    def _consumers(self, client: AsyncClient) -> list[Consuming]:
        """The first one has a group of its own, the others share one."""
        alone, shared = self._groups
        names = [(alone, f"{alone.group}-1")]
        names += [(shared, f"{shared.group}-{number}") for number in range(1, self._options.sharing_consumers + 1)]
        return [Consuming(name, client, ledger, self._work, self._options) for ledger, name in names]

    async def _verify(self, client: AsyncClient, outcome: RunOutcome) -> None:
        verification = Verification(client, self._options, self._work, self._scene.promise)
        outcome.findings = await verification.run(self._sent, self._groups, self._killer.restarts)

    async def _show(self) -> None:
        while True:
            self._journal.sample()
            self._display.refresh(self._journal)
            await asyncio.sleep(REFRESH_S)


async def _timed(call: Callable[[], Awaitable[None]]) -> float:
    now_s = asyncio.get_running_loop().time
    began_s = now_s()
    await call()
    return now_s() - began_s


@contextmanager
def _quiet_sdk() -> Iterator[None]:
    """The SDK logs that a server is away, which is what this is about: without any logging set up it would go to
    standard error, into the display."""
    logger = logging.getLogger("acklog")
    handler = logging.NullHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _first_of(group: ExceptionGroup[Exception]) -> Exception:
    """The first failure: those that follow are its consequences."""
    error: Exception = group
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
