"""Planted bugs of recurring schedules: `tests.sim.cluster.mutants` has them all."""

from collections.abc import Callable, Iterable

import pytest

from cluster.model.recurring_schedule import RecurringSchedule
from storage.node.schedule.recurring_definitions import RecurringDefinitions
from storage.node.schedule.recurring_host import RecurringHost
from storage.schedule.recurring_runs import RecurringRun, RecurringRuns


def times_are_forgotten_by_the_next_leader(patch: pytest.MonkeyPatch) -> None:
    """Up to which time a schedule is dealt with is known to who noted it, and to nobody else."""

    async def restore(self: RecurringHost) -> None:
        pass

    patch.setattr(RecurringHost, "restore", restore)


def refused_times_are_dealt_with(patch: pytest.MonkeyPatch) -> None:
    """What cannot be noted for want of room or replicas is not tried again."""

    def give_back(self: RecurringRuns, runs: Iterable[RecurringRun]) -> None:
        for run in runs:
            self._done_ms[run.schedule.id] = run.until_ms
            schedule = self._schedules[run.schedule.id]
            schedule.deciding_until_ms = -1
            self._find_next(schedule)

    patch.setattr(RecurringRuns, "give_back", give_back)


def homes_are_computed(patch: pytest.MonkeyPatch) -> None:
    """Who leads the partition that a schedule belongs to by its topic sends it, whoever did before."""

    def of_home(self: RecurringDefinitions, topic_id: str, partition: int) -> list[RecurringSchedule]:
        found = self._metadata.recurring.of_topic(topic_id)
        return [each for each in found if self.proper_home(each) == partition]

    patch.setattr(RecurringDefinitions, "of_home", of_home)


RECURRING_MUTANTS: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    times_are_forgotten_by_the_next_leader,
    refused_times_are_dealt_with,
    homes_are_computed,
)
