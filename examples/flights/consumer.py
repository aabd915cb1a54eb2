"""A consumer: receives, and acknowledges what it received, until its group has done everything."""

from dataclasses import dataclass

from examples.flights.client import AcklogClient, Delivery, ItemResult, RequestRefusedError, Retrying, ServerAwayError
from examples.flights.group_ledger import GroupLedger
from examples.flights.message import digest_of
from examples.flights.work import Work

STALE = "RECEIPT_STALE"


@dataclass(slots=True)
class Consumer:
    name: str
    topic: str
    client: AcklogClient
    ledger: GroupLedger
    work: Work
    max_messages: int
    stale_receipts: int = 0

    async def run(self) -> None:
        group = self.ledger.group
        retrying = Retrying()
        while not self.work.is_done(group):
            began = self.ledger.receive_began()
            try:
                deliveries = await self.client.receive(self.topic, group, self.name, max_messages=self.max_messages)
            except ServerAwayError as error:
                await retrying.pause_after(error)
                continue
            retrying = Retrying()
            for each in deliveries:
                digest = digest_of(each.key, each.tags, bytes(each.body))
                self.ledger.delivered(began, each.partition, each.offset, digest)
            await self._acknowledge(deliveries)

    async def _acknowledge(self, deliveries: list[Delivery]) -> None:
        """Until the outcome of each is known: done, or leased again to somebody else."""
        retrying = Retrying()
        open_ones = deliveries
        while open_ones:
            try:
                results = await self.client.acknowledge([each.receipt for each in open_ones])
            except ServerAwayError as error:
                await retrying.pause_after(error)
                continue
            open_ones = self._settle(open_ones, results)
            if open_ones:
                await retrying.pause_after(ServerAwayError(f"{len(open_ones)} acknowledgements failed"))

    def _settle(self, deliveries: list[Delivery], results: list[ItemResult]) -> list[Delivery]:
        """Note what is done; returns what has to be tried again."""
        if len(results) != len(deliveries):
            raise RequestRefusedError(f"{len(results)} results for {len(deliveries)} receipts")
        again: list[Delivery] = []
        done = 0
        for delivery, result in zip(deliveries, results, strict=True):
            if not result.code:
                done += self.ledger.acknowledged(delivery.partition, delivery.offset)
            elif result.code == STALE:
                self.stale_receipts += 1
            elif result.retriable:
                again.append(delivery)
            else:
                raise RequestRefusedError(f"an acknowledgement was refused: {result.code}: {result.detail}")
        self.work.add_done(self.ledger.group, done)
        return again
