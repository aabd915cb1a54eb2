"""Where each leader epoch began in the log: what followers compare to find where they diverge.

Sources: KIP-101 (truncate by epoch, not by high watermark), KIP-279 (the answer names the epoch that it is for).
"""

from bisect import bisect_left, bisect_right

import msgspec

from acklog.wire.decode_errors import with_decode_errors

UNKNOWN_EPOCH = -1
UNKNOWN_OFFSET = -1


class LeaderEpochs:
    """Epochs and their start offsets, both strictly rising.

    The object belongs to one log, which says in `log_end` where its newest epoch ends.
    """

    __slots__ = ("_epochs", "_starts", "is_dirty", "log_end")

    def __init__(self, entries: list[tuple[int, int]] | None = None) -> None:
        self._epochs = [epoch for epoch, _ in entries or ()]
        self._starts = [start for _, start in entries or ()]
        self.is_dirty = False
        self.log_end = 0

    @property
    def last_epoch(self) -> int:
        """The newest epoch, -1 when there is none."""
        return self._epochs[-1] if self._epochs else UNKNOWN_EPOCH

    def entries(self) -> list[tuple[int, int]]:
        return list(zip(self._epochs, self._starts, strict=True))

    def note(self, epoch: int, start_offset: int) -> None:
        """A batch of `epoch` was appended at `start_offset`. Only the first of an epoch changes anything."""
        if self._epochs:
            last = self._epochs[-1]
            if epoch == last:
                return
            if epoch < last or start_offset < self._starts[-1]:
                raise ValueError(f"epoch {epoch} at {start_offset} after {last} at {self._starts[-1]}")
            if start_offset == self._starts[-1]:  # nothing of the last epoch is left
                self._epochs.pop()
                self._starts.pop()
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        self.is_dirty = True

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        """(epoch, its exclusive end) of the newest known epoch that is not above `epoch`.

        With (3 from 0), (5 from 20) and a log end of 50: 5 → (5, 50); 4 → (3, 20); 3 → (3, 20); 2 → (2, 0), as
        nothing older than epoch 3 is in the log; 6 → (-1, -1), as the asker knows more than this log.
        """
        if not self._epochs or epoch < 0 or epoch > self._epochs[-1]:
            return UNKNOWN_EPOCH, UNKNOWN_OFFSET
        if epoch == self._epochs[-1]:
            return epoch, self.log_end
        following = bisect_right(self._epochs, epoch)
        known = self._epochs[following - 1] if following else epoch
        return known, self._starts[following]

    def end_below(self, epoch: int) -> int:
        """Up to where the log has batches of epochs below `epoch` only."""
        following = bisect_left(self._epochs, epoch)
        return self._starts[following] if following < len(self._starts) else self.log_end

    def epoch_at(self, offset: int) -> int:
        """The epoch of the batch at `offset`; -1 when it is below everything known."""
        index = bisect_right(self._starts, offset) - 1
        return self._epochs[index] if index >= 0 else UNKNOWN_EPOCH

    def truncate_to(self, log_end: int) -> None:
        """Forget epochs that began at or after `log_end`."""
        keep = bisect_left(self._starts, log_end)
        if keep < len(self._starts):
            del self._epochs[keep:], self._starts[keep:]
            self.is_dirty = True

    def remove_before(self, log_start: int) -> None:
        """Forget epochs that ended at or before `log_start`; the one that goes on begins there now."""
        drop = bisect_right(self._starts, log_start) - 1
        if drop < 0:
            return
        if drop > 0 or self._starts[0] != log_start:
            del self._epochs[:drop], self._starts[:drop]
            self._starts[0] = log_start
            self.is_dirty = True

    def to_bytes(self) -> bytes:
        return msgspec.msgpack.encode(self.entries())


_decode = with_decode_errors(msgspec.msgpack.Decoder(list[tuple[int, int]]).decode)


def leader_epochs_from_bytes(payload: bytes) -> LeaderEpochs:
    """Raises ValueError."""
    epochs = LeaderEpochs()
    for epoch, start in _decode(payload):
        epochs.note(epoch, start)
    epochs.is_dirty = False
    return epochs
