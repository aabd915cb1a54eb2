"""What one group was given and what it acknowledged, in the order in which it went over the wire.

The clock here counts events of this one process, it measures no time: a receive request that began after an
acknowledgement had been confirmed has the larger number. Only such a receive must not contain the message; one that
was under way already may.
"""

from collections.abc import Collection

from app.demo.column import ABSENT, OffsetColumn
from app.demo.findings import PromiseCheck
from app.demo.send_ledger import SendLedger


class GroupLedger:
    """Of one group, over all of its consumers."""

    def __init__(self, group: str) -> None:
        self.group = group
        self._now = 0
        self._delivered = OffsetColumn()
        self._digests = OffsetColumn()
        self._done_at = OffsetColumn()
        self._again = PromiseCheck(f"{group}: nothing came again after its acknowledgement had returned")
        self._content = PromiseCheck(f"{group}: every delivery brought the bytes that were sent")
        self.deliveries = 0
        self.redeliveries = 0

    @property
    def done_count(self) -> int:
        """Messages whose acknowledgement returned success, each counted once."""
        return len(self._done_at)

    def receive_began(self) -> int:
        """Call before the request is written; hand the number to `delivered`."""
        self._now += 1
        return self._now

    def delivered(self, began: int, partition: int, offset: int) -> None:
        """The answer of the receive that began at `began` holds this message."""
        self.deliveries += 1
        self._again.examined += 1
        done_at = self._done_at.get(partition, offset)
        if done_at != ABSENT and done_at < began:
            self._again.violated(f"{partition}/{offset} came again, {began - done_at} events after it was done")
        if self._delivered.get(partition, offset) != ABSENT:
            self.redeliveries += 1
        self._delivered.put(partition, offset, 1)

    def handled(self, partition: int, offset: int, digest: int) -> None:
        """A handler was given this message."""
        if self._delivered.get(partition, offset) == ABSENT:
            self._content.violated(f"{partition}/{offset} was handed out, and no answer of the server held it")
        before = self._digests.get(partition, offset)
        if before == ABSENT:
            self._digests.put(partition, offset, digest)
        elif before != digest:
            self._content.violated(f"{partition}/{offset} brought other bytes the second time")

    def acknowledged(self, partition: int, offset: int) -> bool:
        """The acknowledgement returned success. Whether the message is done for the first time."""
        self._now += 1
        if self._done_at.get(partition, offset) != ABSENT:
            return False
        self._done_at.put(partition, offset, self._now)
        return True

    def findings(self, sent: SendLedger) -> list[PromiseCheck]:
        """Against what was sent, after the group has done everything."""
        for partition, offset, digest in self._digests.items():
            self._content.examined += 1
            expected = sent.digest_at(partition, offset)
            if expected == ABSENT:
                self._content.violated(f"{partition}/{offset} was delivered, but no send was acknowledged there")
            elif expected != digest:
                self._content.violated(f"{partition}/{offset} brought other bytes than were sent")
        return [self._check_done(sent), self._content, self._again]

    def _check_done(self, sent: SendLedger) -> PromiseCheck:
        finding = PromiseCheck(f"{self.group}: every message is done exactly once, by count and checksum")
        checksum = 0
        for partition, offset, _ in self._done_at.items():
            finding.examined += 1
            if self._digests.get(partition, offset) == ABSENT:
                finding.violated(f"{partition}/{offset} is done and was never delivered")
                continue
            checksum += self._digests.get(partition, offset)
        for partition, offset, index in sent.places().items():
            if self._done_at.get(partition, offset) == ABSENT:
                finding.violated(f"message {index} at {partition}/{offset} is not done")
        finding.expect_equal("messages done", found=self.done_count, expected=len(sent))
        finding.expect_equal("checksum", found=checksum, expected=sent.checksum)
        return finding


def check_lag(group: str, lags: dict[int, int], *, partitions: Collection[int]) -> PromiseCheck:
    """`lags` holds the group's lag by partition, as the server tells it; `partitions` are those with messages."""
    finding = PromiseCheck(f"{group}: the server shows no lag", examined=len(lags))
    for partition in sorted(partitions):
        if partition not in lags:
            finding.violated(f"the server shows no progress in partition {partition}")
    for partition in sorted(lags):
        if lags[partition] != 0:
            finding.violated(f"partition {partition} has a lag of {lags[partition]:,}")
    return finding
