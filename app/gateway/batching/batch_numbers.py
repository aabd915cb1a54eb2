"""Which batch is which: what makes it safe to send one again whose answer was lost (rule R19)."""

from typing import NamedTuple

from acklog.wire.batch import NO_PRODUCER
from cluster.ports.entropy import Entropy

SEQUENCE_MAX = 2**31 - 1
"""What fits into the batch header."""


class BatchNumber(NamedTuple):
    """As in the batch header. No two batches have the same."""

    producer_id: int
    producer_epoch: int
    base_sequence: int


NO_NUMBER = BatchNumber(NO_PRODUCER, NO_PRODUCER, NO_PRODUCER)
"""Of a batch that is never sent again."""


class BatchNumbers:
    """Counts the batches of this process under a producer id that it draws.

    One count for all partitions: nobody needs it to be without gaps. When it is used up, a new id begins a new one.
    """

    def __init__(self, entropy: Entropy, *, sequence_max: int = SEQUENCE_MAX) -> None:
        self._entropy = entropy
        self._sequence_max = sequence_max
        self._producer_id = _new_producer_id(entropy)
        self._last_sequence = -1

    def next(self) -> BatchNumber:
        if self._last_sequence == self._sequence_max:
            self._producer_id, self._last_sequence = _new_producer_id(self._entropy), -1
        self._last_sequence += 1
        return BatchNumber(self._producer_id, 0, self._last_sequence)


def _new_producer_id(entropy: Entropy) -> int:
    return entropy.bits64() >> 1
