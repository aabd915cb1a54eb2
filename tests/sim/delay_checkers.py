"""What is scheduled is seen when it is due, once (11 of docs/rules.md, rule R31)."""

from collections import defaultdict

from tests.sim.checkers import final_records
from tests.sim.history import History, LeftForLater, Outcome, ReadRecord, Rescheduled, ScheduledFor


class DelayedIsNeverEarly:
    """Its append time is not before the time that its client was told last; both are leaders' clocks."""

    def check(self, history: History) -> list[str]:
        changes = _changes(history)
        found = _by_uid(history)
        violations = []
        for scheduled in history.of(ScheduledFor):
            due_ms = scheduled.due_ms
            for change in changes[scheduled.uid]:
                if change.due_ms >= 0 and change.outcome is Outcome.OK:
                    due_ms = change.due_ms
                elif change.due_ms >= 0 and change.outcome is Outcome.UNKNOWN:
                    due_ms = 0  # it may have been moved to any time
            violations += [
                f"{scheduled.uid} was due at {due_ms} and appended at {record.append_time_ms}"
                for record in found[scheduled.queue, scheduled.uid]
                if record.append_time_ms < due_ms
            ]
        return violations


class DelayedIsThereOnceInTheEnd:
    """What was acknowledged and not cancelled is in the log once; what was cancelled is not."""

    def check(self, history: History) -> list[str]:
        changes = _changes(history)
        found = _by_uid(history)
        left = {name for each in history.of(LeftForLater) for name in each.schedule_ids}
        violations = []
        for scheduled in history.of(ScheduledFor):
            if scheduled.schedule_id in left and found[scheduled.queue, scheduled.uid]:
                violations.append(f"{scheduled.uid} is there, and scheduled still")
            count = len(found[scheduled.queue, scheduled.uid])
            cancels = [change.outcome for change in changes[scheduled.uid] if change.due_ms < 0]
            if Outcome.OK in cancels and count:
                violations.append(f"{scheduled.uid} was cancelled, and is there")
            elif Outcome.OK not in cancels and Outcome.UNKNOWN not in cancels and not count:
                if scheduled.schedule_id in left:
                    continue
                violations.append(f"{scheduled.uid} was due at {scheduled.due_ms}, and is not there")
            if count > 1:
                violations.append(f"{scheduled.uid} is there {count} times")
        return violations


def _changes(history: History) -> dict[str, list[Rescheduled]]:
    found: dict[str, list[Rescheduled]] = defaultdict(list)
    for change in history.of(Rescheduled):
        found[change.uid].append(change)
    return found


def _by_uid(history: History) -> dict[tuple[str, str], list[ReadRecord]]:
    found: dict[tuple[str, str], list[ReadRecord]] = defaultdict(list)
    for (queue, _, _), record in final_records(history):
        found[queue, record.uid].append(record)
    return found


ALL_DELAYED = (DelayedIsNeverEarly(), DelayedIsThereOnceInTheEnd())
