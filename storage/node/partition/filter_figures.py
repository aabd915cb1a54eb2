"""What filters have passed over on a node since its start."""

from dataclasses import dataclass

from acklog.wire.batch import BatchHeader


@dataclass(slots=True)
class FilterFigures:
    """Messages that were looked at for a group, a call or a read of the log, and left where they were, as often as that
    was. `size_bytes` is what they take in the log: of a batch that is passed over in part, its share. Of
    `batches_skipped` the header's tag bits said enough."""

    messages: int = 0
    size_bytes: int = 0
    batches_skipped: int = 0

    def skipped(self, header: BatchHeader) -> None:
        """A batch, by its tag bits."""
        self.batches_skipped += 1
        self.passed_over(header, header.count)

    def passed_over(self, header: BatchHeader, messages: int) -> None:
        """So many messages of the batch."""
        self.messages += messages
        self.size_bytes += header.length * messages // header.count
