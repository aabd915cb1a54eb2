"""Invariants of pauses: what is paused is not delivered, and stays so until it is resumed."""

from collections.abc import Iterator

from tests.sim.history import Delivered, History, Outcome, Paused, Resumed

GRACE_MS = 2_000
"""Leaders learn of a pause as of every change of a group; a watch that broke is begun anew after a pause of its own."""


class PausedIsNotDelivered:
    """From the answer to a pause on, and until somebody asks for it to go on, no receive that begins is given anything
    of what is paused; but a leader that does not hear of changes may go on for `unnoticed_ms`."""

    def __init__(self, *, unnoticed_ms: float) -> None:
        self._unnoticed_ms = unnoticed_ms

    def check(self, history: History) -> list[str]:
        return list(self._found(history))

    def _found(self, history: History) -> Iterator[str]:
        resumed = list(history.of(Resumed))
        for paused in history.of(Paused):
            if paused.outcome is not Outcome.OK:
                continue
            from_ms = paused.ended_ms + GRACE_MS + self._unnoticed_ms
            ends = [
                each.began_ms for each in resumed if each.group == paused.group and each.began_ms >= paused.began_ms
            ]
            until_ms = min(ends, default=float("inf"))
            for delivered in history.of(Delivered):
                if _is_of(delivered, paused) and from_ms < delivered.began_ms and delivered.ended_ms < until_ms:
                    yield (
                        f"{delivered.consumer} received offset {delivered.offset} of {delivered.queue} "
                        f"{delivered.partition} at {delivered.began_ms}, when {paused.group} had been paused since "
                        f"{paused.ended_ms}, and until {until_ms}"
                    )


def _is_of(delivered: Delivered, paused: Paused) -> bool:
    if delivered.group != paused.group or paused.queue not in {"", delivered.queue}:
        return False
    return not paused.partitions or delivered.partition in paused.partitions
