"""The consumers: one group of a single consumer that works in batches, one of several with concurrent handlers."""

import asyncio
from collections.abc import Awaitable

from acklog.client.async_client import AsyncClient
from acklog.consumer.async_consumer import AsyncConsumer
from acklog.consumer.settlements import SettlementProblem
from acklog.errors import AcklogError
from acklog.messages import Message
from app.demo.group_ledger import GroupLedger
from app.demo.message import digest_of
from app.demo.options import TOPIC, Options
from app.demo.work import Work

STALE = "RECEIPT_STALE"
BATCHES_AHEAD = 2
BATCHES_UNSETTLED = 4  # what a kill may take back


class Consuming:
    """One consumer of a group. It receives ahead, keeps leases, acks what is handled and waits for a server that is
    away: nothing of that is done here."""

    def __init__(self, name: str, client: AsyncClient, ledger: GroupLedger, work: Work, options: Options) -> None:
        self.stale_receipts = 0
        self._ledger = ledger
        self._work = work
        self._options = options
        self._failure: AcklogError | None = None
        self._consumer: AsyncConsumer = client.consumer(
            TOPIC,
            group=ledger.group,
            consumer=name,
            on_problem=self._on_problem,
            prefetch_messages_max=BATCHES_AHEAD * options.batch_size,
            unsettled_messages_max=BATCHES_UNSETTLED * options.batch_size,
            backoff_max_ms=options.backoff_max_ms,
            stop_timeout_s=options.stop_timeout_s,
        )

    async def run_batches(self) -> None:
        """A batch at a time, until the group has done everything. Raises AcklogError."""
        await self._until_finished(self._work_in_batches())

    async def run_handlers(self) -> None:
        """Several messages at a time, until the group has done everything. Raises AcklogError."""
        await self._until_finished(self._consumer.serve(self._handle, concurrency=self._options.handlers))

    async def _until_finished(self, working: Awaitable[None]) -> None:
        stopping = asyncio.create_task(self._stop_when_finished())
        try:
            await working
        finally:
            stopping.cancel()
        if self._failure is not None:
            raise self._failure

    async def _stop_when_finished(self) -> None:
        await self._work.finished(self._ledger.group)
        self._consumer.stop()

    async def _work_in_batches(self) -> None:
        async with self._consumer as consumer:
            async for batch in consumer.batches(self._options.batch_size):
                async with batch:
                    for message in batch:
                        self._handle(message)

    def _handle(self, message: Message) -> None:
        digest = digest_of(message.key, message.tags, message.body_bytes)
        self._ledger.handled(message.partition, message.offset, digest)

    def _on_problem(self, problem: SettlementProblem) -> None:
        """A receipt becomes stale where the server was killed while messages were leased: they are leased anew."""
        if problem.error.code == STALE:
            self.stale_receipts += 1
            return
        self._failure = self._failure or problem.error
        self._consumer.stop()
