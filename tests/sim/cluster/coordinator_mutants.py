"""Planted bugs of the coordinator of exclusive groups: `tests.sim.cluster.mutants` has them all."""

import pytest

from storage.groups import joining, reassignment
from storage.groups.beats import Beats
from storage.groups.coordinator import Coordinator
from storage.groups.exclusive_group import ExclusiveGroup, Owner, owner_after
from storage.groups.member import GroupMember
from storage.groups.records import MemberGone, MemberWritten
from storage.node.groups.group_log import GroupLog
from storage.rpc.membership_messages import HeartbeatRequest, Ownership


def sessions_never_end(patch: pytest.MonkeyPatch) -> None:
    """Who died without a word keeps its partitions for ever."""

    def end_sessions(self: Beats, now_ms: int) -> None:
        self._sessions = [entry for entry in self._sessions if entry[0] > now_ms]

    patch.setattr(Beats, "end_sessions", end_sessions)


def coordinators_forget(patch: pytest.MonkeyPatch) -> None:
    """A new coordinator begins with nothing: its log is not read."""

    async def read_into(self: GroupLog, coordinator: Coordinator, now_ms: int) -> None:
        coordinator.restored()

    patch.setattr(GroupLog, "read_into", read_into)


def ownerships_are_not_raised(patch: pytest.MonkeyPatch) -> None:
    """Whoever gets a partition has it by the number of its first owner."""
    patch.setattr(reassignment, "owner_after", lambda before, member, _ownership: owner_after(before, member, 1))


def everybody_is_taken_for_gone(patch: pytest.MonkeyPatch) -> None:
    """A partition's leader is told that it need not wait for the owner before."""
    patch.setattr(
        reassignment, "owner_after", lambda _before, member, ownership: Owner(member, ownership, 1, ownership)
    )


def second_instances_are_accepted(patch: pytest.MonkeyPatch) -> None:
    """A static name is whoever's that comes last, however lively the process is that has it."""
    patch.setattr(GroupMember, "is_alive", lambda self, now_ms: False)


def static_takeovers_keep_the_ownership(patch: pytest.MonkeyPatch) -> None:
    """Partitions' leaders cannot tell the process that has a static name from the one that had it."""
    original = joining.records_of

    def records_of(request: HeartbeatRequest, *arguments: object) -> list[MemberWritten | MemberGone]:
        records = original(request, *arguments)  # type: ignore[arg-type]
        return records[-1:] if request.is_static else records

    patch.setattr("storage.groups.beats.records_of", records_of)


def partitions_are_given_to_all(patch: pytest.MonkeyPatch) -> None:
    """Each member is told that all partitions are its own."""

    def owned_by(self: ExclusiveGroup, member: GroupMember) -> list[Ownership]:
        return [Ownership(*place, self.owners[place].ownership) for place in sorted(self.owners)]

    patch.setattr(ExclusiveGroup, "owned_by", owned_by)


def some_partitions_are_nobodys(patch: pytest.MonkeyPatch) -> None:
    """Where a member goes, the others are not told that its partitions are theirs."""
    original = reassignment.changes_of

    def changes_of(group: ExclusiveGroup, *arguments: object) -> object:
        changes = original(group, *arguments)  # type: ignore[arg-type]
        return tuple(each for each in changes if not (each.is_forced and group.epoch > 2))

    patch.setattr("storage.groups.coordinator.changes_of", changes_of)
