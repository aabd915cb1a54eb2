"""Invariants of filters: nobody is given what does not match, and of what matches nothing is left out.

That what matches is done in the end, and in its order, `delivery_checkers` and `order_checkers` judge: they let a group
pass over what a filter that it may have had does not match, and nothing else.
"""

from tests.sim.checkers import final_log, lease_place_of
from tests.sim.filters import wants
from tests.sim.filters_in_force import FiltersInForce
from tests.sim.history import Delivered, FilteredRead, History, Sent

GRACE_MS = 2_000
"""Leaders learn of a filter as of every change of a group; a broken watch begins anew after a pause of its own."""


class OnlyWhatMatchesIsDelivered:
    """What is delivered matches the filter of the call, and one that the group may have had at that time."""

    def __init__(self, *, unnoticed_ms: float) -> None:
        self._noticed_ms = GRACE_MS + unnoticed_ms

    def check(self, history: History) -> list[str]:
        filters = FiltersInForce(history, noticed_ms=self._noticed_ms)
        violations = []
        for delivered in history.of(Delivered):
            sent = filters.sent(delivered.uid)
            if sent is None:
                continue
            texts = filters.of(delivered.group, after_ms=delivered.began_ms, before_ms=delivered.ended_ms)
            if not any(wants(text, sent) for text in texts):
                violations.append(self._complaint(delivered, sent, " or ".join(texts)))
            if not wants(delivered.filter, sent):
                violations.append(self._complaint(delivered, sent, delivered.filter))
        return violations

    @staticmethod
    def _complaint(delivered: Delivered, sent: Sent, text: str) -> str:
        return (
            f"{lease_place_of(delivered)}, with {sent.tags} and {sent.headers}, was delivered to {delivered.consumer} "
            f"at {delivered.ended_ms}, and does not match {text}"
        )


class FilteredPagesLeaveOutNothing:
    """A page of the log that was read through a filter holds what matches of all that it went past, and nothing
    else."""

    def check(self, history: History) -> list[str]:
        sent = {each.uid: each for each in history.of(Sent)}
        log = final_log(history)
        violations = []
        for page in history.of(FilteredRead):
            matching = [
                record.offset
                for record in log.get((page.queue, page.partition), [])
                if page.offset <= record.offset < page.next_offset and wants(page.filter, sent[record.uid])
            ]
            if page.offsets != matching:
                violations.append(
                    f"{page.reader} read {page.queue}/{page.partition} from {page.offset} to {page.next_offset} "
                    f"where {page.filter}: {page.offsets}, there are {matching}"
                )
        return violations
