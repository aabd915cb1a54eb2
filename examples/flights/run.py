"""The run: a server, producers, two groups of consumers and somebody who kills the server; then the verification."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path

from rich.progress import Progress

from examples.flights.client import AcklogClient, RequestStatistics
from examples.flights.consumer import Consumer
from examples.flights.findings import Finding
from examples.flights.group_ledger import GroupLedger
from examples.flights.input_file import count_messages, read_messages
from examples.flights.killer import Killer, Restart
from examples.flights.options import SHARED_GROUP, SINGLE_GROUP, TOPIC, Options
from examples.flights.producer import QUEUED_BATCHES_MAX, BatchQueue, Producer, distribute
from examples.flights.progress import show_work
from examples.flights.send_ledger import SendLedger
from examples.flights.verification import verify
from examples.flights.work import Work, watch_for_stalls
from examples.server_process import ServerProcess, acklog_command, free_port


class DeadlineError(RuntimeError):
    """The whole run took longer than it may."""


@dataclass(slots=True)
class Outcome:
    """Durations are in seconds; `sending_s` ends with the last acknowledged send, `working_s` with the last message
    done, both kills included."""

    messages: int = 0
    start_s: float = 0.0
    sending_s: float = 0.0
    working_s: float = 0.0
    verifying_s: float = 0.0
    restarts: list[Restart] = field(default_factory=list)
    deliveries: int = 0
    redeliveries: int = 0
    stale_receipts: int = 0
    statistics: RequestStatistics = field(default_factory=RequestStatistics)
    findings: list[Finding] = field(default_factory=list)

    @property
    def is_ok(self) -> bool:
        return bool(self.findings) and all(finding.is_ok for finding in self.findings)


async def run(options: Options, source: Path, directory: Path, progress: Progress) -> Outcome:
    """Everything, on a server that keeps its data in `directory`. Raises DeadlineError, StalledError,
    ServerFailedError, RequestRefusedError, ServerAwayError."""
    port = free_port()
    server = ServerProcess(acklog_command(port=port, data_dir=directory / "data"), port, directory / "server.log")
    work = Work(count_messages(source, options.messages), (SINGLE_GROUP, SHARED_GROUP))
    try:
        async with asyncio.timeout(options.deadline_s):
            return await _Run(options, source, server, work, progress).run()
    except TimeoutError:
        raise DeadlineError(f"not finished within {options.deadline_s:.0f} s: {work.describe()}") from None
    except ExceptionGroup as group:
        raise _first_of(group) from None
    finally:
        await server.stop()


class _Run:
    def __init__(self, options: Options, source: Path, server: ServerProcess, work: Work, progress: Progress) -> None:
        self._options = options
        self._source = source
        self._server = server
        self._work = work
        self._progress = progress
        self._sent = SendLedger()
        self._groups = [GroupLedger(group) for group in work.done]
        self._killer = Killer(server, work, options.kills)
        self._consumers: list[Consumer] = []
        self._outcome = Outcome(messages=work.total, restarts=self._killer.restarts)

    async def run(self) -> Outcome:
        outcome = self._outcome
        outcome.start_s = await self._server.start()
        async with AcklogClient(self._server.url) as client:
            outcome.statistics = client.statistics
            await client.create_topic(TOPIC, self._options.partitions)
            await self._do_work(client)
            outcome.verifying_s = await _timed(lambda: self._verify(client))
        outcome.deliveries = sum(ledger.deliveries for ledger in self._groups)
        outcome.redeliveries = sum(ledger.redeliveries for ledger in self._groups)
        outcome.stale_receipts = sum(consumer.stale_receipts for consumer in self._consumers)
        return outcome

    async def _do_work(self, client: AcklogClient) -> None:
        started = time.perf_counter()
        self._consumers = self._make_consumers(client)
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(watch_for_stalls(self._work, stall_s=self._options.stall_s))
            tasks.create_task(show_work(self._progress, self._work, self._killer.restarts))
            working: list[Coroutine[None, None, object]] = [self._produce(client), self._killer.run()]
            working += [consumer.run() for consumer in self._consumers]
            await asyncio.gather(*[tasks.create_task(each) for each in working])
            self._outcome.working_s = time.perf_counter() - started
            watching.cancel()

    def _make_consumers(self, client: AcklogClient) -> list[Consumer]:
        size = self._options.receive_batch_size
        names = {SINGLE_GROUP: 1, SHARED_GROUP: self._options.sharing_consumers}
        return [
            Consumer(f"{ledger.group}-{number}", TOPIC, client, ledger, self._work, size)
            for ledger in self._groups
            for number in range(names[ledger.group])
        ]

    async def _produce(self, client: AcklogClient) -> None:
        queues = [BatchQueue(QUEUED_BATCHES_MAX) for _ in range(self._options.producers)]
        run_name = secrets.token_hex(4)
        started = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            messages = read_messages(self._source, self._options.messages)
            tasks.create_task(distribute(messages, self._sent, queues, batch_size=self._options.send_batch_size))
            for number, queue in enumerate(queues):
                producer = Producer(f"{run_name}-{number}", TOPIC, client, self._sent, self._work)
                tasks.create_task(producer.run(queue))
        self._outcome.sending_s = time.perf_counter() - started

    async def _verify(self, client: AcklogClient) -> None:
        task = self._progress.add_task("read back and compared", total=self._work.total, note="")
        self._outcome.findings = await verify(
            client,
            self._options,
            self._sent,
            self._groups,
            self._killer.restarts,
            on_read=lambda count: self._progress.advance(task, count),
        )


async def _timed(call: Callable[[], Awaitable[None]]) -> float:
    started = time.perf_counter()
    await call()
    return time.perf_counter() - started


def _first_of(group: ExceptionGroup[Exception]) -> Exception:
    """The first failure: those that follow are its consequences."""
    error: Exception = group
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
