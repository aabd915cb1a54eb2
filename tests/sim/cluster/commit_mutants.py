"""Planted bugs of commits in exclusive groups, and of who owns what there: `tests.sim.cluster.mutants` has them all."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from app.calls.commits import CommitFields
from app.services.commits import CommitService
from cluster.model.values import Assignor, Group
from storage.groups.assignors.choice import ASSIGNORS
from storage.groups.assignors.task import Assignment, AssignmentTask
from storage.rpc.membership_messages import Ownership


def commits_are_not_fenced(patch: pytest.MonkeyPatch) -> None:
    """Whoever is a member, or was, commits where somebody is the owner."""

    async def owned(self: CommitService, group: Group, fields: CommitFields) -> dict[tuple[str, int], Ownership]:
        known = (await self._membership.members(group)).members
        return {(each.topic_id, each.partition): each for member in known for each in member.assigned}

    patch.setattr(CommitService, "_owned", owned)


def later_lives_stand_in_for_earlier_ones(patch: pytest.MonkeyPatch) -> None:
    """A process that has left commits under its name as soon as another one has that."""
    original = CommitService._owned

    async def owned(self: CommitService, group: Group, fields: CommitFields) -> dict[tuple[str, int], Ownership]:
        known = (await self._membership.members(group)).members
        now = next((each.member_epoch for each in known if each.member == fields.member), fields.member_epoch)
        return await original(self, group, replace(fields, member_epoch=now))

    patch.setattr(CommitService, "_owned", owned)


def ranges_lose_what_is_odd(patch: pytest.MonkeyPatch) -> None:
    """What cannot be divided evenly is nobody's."""
    original = ASSIGNORS[Assignor.RANGE]

    def assign(task: AssignmentTask) -> Assignment:
        found = original(task)
        shares = {
            topic_id: len(task.partitions[topic_id]) // len(names) for topic_id, names in task.subscribers.items()
        }
        counts = {topic_id: len(names) * shares[topic_id] for topic_id, names in task.subscribers.items()}
        return {place: name for place, name in found.items() if place.partition < counts[place.topic_id]}

    patch.setitem(ASSIGNORS, Assignor.RANGE, assign)


COMMIT_MUTANTS: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    commits_are_not_fenced,
    later_lives_stand_in_for_earlier_ones,
    ranges_lose_what_is_odd,
)
