"""Invariants of seeks: what is answered stays so, whoever leads; and what was handed out before is void."""

from collections.abc import Mapping

from tests.sim.checkers import LeasePlace, ReceiptOrder, lease_place_of, receipt_order_of
from tests.sim.history import Delivered, History, Outcome, Settled, Sought
from tests.sim.quiet_endings import QuietEndings
from tests.sim.seeks import Seeks, Window


class SeeksAreNotForgotten:
    """R24. After a seek was answered, its group's receipts are of a later generation for each such seek, and nothing
    below its position is delivered, until another seek goes back."""

    def check(self, history: History) -> list[str]:
        seeks = Seeks(history)
        violations = []
        for delivered in history.of(Delivered):
            before = [
                sought
                for sought in seeks.certain(lease_place_of(delivered)[:3])
                if sought.ended_ms < delivered.began_ms
            ]
            if not delivered.is_auto_acked and delivered.generation < len(before):
                violations.append(
                    f"{lease_place_of(delivered)} was delivered in generation {delivered.generation} "
                    f"after {len(before)} seeks"
                )
            violations += [
                f"{lease_place_of(delivered)} was delivered at {delivered.began_ms}, "
                f"after a seek to {sought.highest} at {sought.ended_ms}"
                for sought in before
                if self._is_below(delivered, sought, seeks)
            ]
        return violations

    @staticmethod
    def _is_below(delivered: Delivered, sought: Sought, seeks: Seeks) -> bool:
        window = Window(delivered.offset, sought.began_ms, delivered.ended_ms)
        is_skipped = delivered.offset < sought.highest
        return is_skipped and bool(seeks.unexplained(lease_place_of(delivered)[:3], [window]))


class ReceiptsFromBeforeASeekAreStale:
    """No receipt that was handed out before a seek is accepted after it, but for an ack of a message that is done: one
    that the seek, or a later one, went past, or that was acknowledged or dead-lettered again."""

    def __init__(self, *, max_attempts: Mapping[str, float], dead_letter_queues: dict[tuple[str, str], str]) -> None:
        """`dead_letter_queues` names the dead-letter topic of each (group, queue)."""
        self._max_attempts = max_attempts
        self._dead_letter_queues = dead_letter_queues

    def check(self, history: History) -> list[str]:
        seeks = Seeks(history)
        endings = QuietEndings(history, dead_letter_queues=self._dead_letter_queues)
        handed_out: dict[tuple[LeasePlace, ReceiptOrder], Delivered] = {}
        for delivered in history.of(Delivered):
            handed_out[lease_place_of(delivered), receipt_order_of(delivered)] = delivered
        violations = []
        for settled in history.of(Settled):
            place = lease_place_of(settled)
            receipt = handed_out.get((place, receipt_order_of(settled)))
            if settled.outcome is not Outcome.OK or receipt is None:
                continue
            overtaking = [
                sought
                for sought in seeks.certain(place[:3])
                if receipt.ended_ms < sought.began_ms and sought.ended_ms < settled.began_ms
            ]
            if not overtaking:
                continue
            ended_quietly = settled.action == "ack" and endings.may_have_ended(
                receipt, after_ms=overtaking[-1].began_ms, before_ms=settled.ended_ms
            )
            if not ended_quietly and not self._was_done(settled, overtaking[-1], history, seeks):
                violations.append(
                    f"{place}: {settled.action} with receipt {receipt_order_of(settled)} was accepted after a seek "
                    f"to {overtaking[-1].highest}"
                )
        return violations

    def _was_done(self, settled: Settled, sought: Sought, history: History, seeks: Seeks) -> bool:
        """Whether it was, or may have been, when the ack came after the seek."""
        place = lease_place_of(settled)
        if settled.action != "ack":
            return False
        if seeks.may_skip(place[:3], settled.offset, after_ms=sought.began_ms, before_ms=settled.ended_ms):
            return True
        return any(
            lease_place_of(event) == place
            and event is not settled
            and sought.began_ms < event.ended_ms
            and event.began_ms < settled.ended_ms
            and self._may_have_done(event)
            for event in history.events
            if isinstance(event, Delivered | Settled)
        )

    def _may_have_done(self, event: Delivered | Settled) -> bool:
        """By itself, or by being the last attempt."""
        if isinstance(event, Settled):
            return event.action == "ack" and event.outcome is not Outcome.FAILED
        return event.is_auto_acked or event.attempt >= self._max_attempts[event.group]
