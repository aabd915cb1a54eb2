"""The coordinator of the exclusive groups of one partition of `__groups`: who is a member, and who owns what.

It decides on all that happened since it was asked last, in one go: a thousand joins are one assignment. Its state is
ahead of the log by what it has decided and its host has not yet made durable; where that fails, the state is void, and
another is made from the log. So nothing here is ever taken back.

It needs no barrier between an old owner and a new one: a reassignment is one record, and the partitions' leaders see to
it that nobody is served by an older ownership.
"""

from collections.abc import Iterator, Sequence

from storage.groups.beats import Beats
from storage.groups.coordinator_settings import CoordinatorSettings
from storage.groups.events import (
    Beat,
    BeatGivenUp,
    CoordinatorEvent,
    GroupDecision,
    GroupDeleted,
    TermsChanged,
    TopicsChanged,
)
from storage.groups.exclusive_group import ExclusiveGroup
from storage.groups.members_described import described
from storage.groups.reassignment import changes_of, is_concerned
from storage.groups.records import Assigned, GroupGone, GroupRecord, GroupWritten, MemberGone
from storage.groups.surroundings import GroupSurroundings
from storage.rpc.membership_messages import MembersResponse


class Coordinator:
    """`restore` it from the log, then `decide`. Times are monotonic."""

    def __init__(self, settings: CoordinatorSettings) -> None:
        self.groups: dict[str, ExclusiveGroup] = {}
        self._beats = Beats(self.groups, self._change, settings)
        self._touched: dict[str, None] = {}
        self._records: list[GroupRecord] = []

    # --- from the log ----------------------------------------------------------------------------------------------

    def restore(self, record: GroupRecord, now_ms: int) -> None:
        """The next one of the log."""
        self._apply(record, now_ms)

    def restored(self) -> None:
        """That was the last one. Every member has a whole session timeout again; who owns what is looked at anew with
        the first decision, as topics may have come meanwhile."""
        for group in self.groups.values():
            self._touched[group.group_id] = None
            for member in group.members.values():
                self._beats.watch(group, member)

    def written(self) -> Iterator[GroupWritten]:
        """The whole state, for a log that is written anew."""
        return (group.written() for group in self.groups.values())

    # --- deciding --------------------------------------------------------------------------------------------------

    def decide(self, events: Sequence[CoordinatorEvent], surroundings: GroupSurroundings, now_ms: int) -> GroupDecision:
        for event in events:
            self._step(event, surroundings, now_ms)
        self._beats.end_sessions(now_ms)
        for group_id in self._touched:
            self._reassign(group_id, surroundings, now_ms)
        answers = self._beats.answers(self._touched, surroundings.topics, now_ms)
        self._touched = {}
        records, self._records = self._records, []
        return GroupDecision(records, answers)

    def next_deadline(self) -> int | None:
        """When the time alone has something decided; it may be too early."""
        return self._beats.next_deadline()

    def _step(self, event: CoordinatorEvent, surroundings: GroupSurroundings, now_ms: int) -> None:
        match event:
            case Beat():
                self._beats.take(event, surroundings.terms(event.request.group_id), surroundings.topics, now_ms)
            case BeatGivenUp():
                self._beats.give_up(event.token, now_ms)
            case TopicsChanged():
                for group in self.groups.values():
                    if is_concerned(group, event.topics):
                        self._touched[group.group_id] = None
                        self._beats.topics_changed(group, surroundings.topics, now_ms)
            case TermsChanged():
                self._touched.update(dict.fromkeys(each for each in event.group_ids if each in self.groups))
            case GroupDeleted():
                if event.group_id in self.groups:
                    self._change(GroupGone(event.group_id), now_ms)

    def _reassign(self, group_id: str, surroundings: GroupSurroundings, now_ms: int) -> None:
        group, terms = self.groups.get(group_id), surroundings.terms(group_id)
        if group is None or terms is None:
            return
        changes = changes_of(group, terms, surroundings)
        if changes:
            record = Assigned(group_id, group.epoch + 1, changes)
            self._records.append(record)
            self._apply(record, now_ms)

    def _change(self, record: GroupRecord, now_ms: int) -> None:
        """Of its members, or of the group as a whole: who owns what follows."""
        group = self.groups.get(record.group_id)
        if group is not None and isinstance(record, MemberGone | GroupGone):
            leaving = group.members.values() if isinstance(record, GroupGone) else [group.members[record.member]]
            for member in leaving:
                self._beats.member_goes(member, now_ms)
        self._records.append(record)
        self._apply(record, now_ms)
        self._touched[record.group_id] = None

    def _apply(self, record: GroupRecord, now_ms: int) -> None:
        if isinstance(record, GroupGone):
            self.groups.pop(record.group_id, None)
            return
        group = self.groups.get(record.group_id)
        if group is None:
            group = self.groups[record.group_id] = ExclusiveGroup(record.group_id)
        group.apply(record, now_ms)

    # --- asking ----------------------------------------------------------------------------------------------------

    def describe(self, group_id: str, now_ms: int) -> MembersResponse:
        group = self.groups.get(group_id)
        return MembersResponse(0, []) if group is None else described(group, now_ms)

    @property
    def waiting(self) -> int:
        """Heartbeats that wait for news."""
        return self._beats.waiting

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        for group in self.groups.values():
            held = {place: member.name for member in group.members.values() for place in member.places}
            assert held == {place: owner.member for place, owner in group.owners.items()}, "an owner is no member"
            assert sum(len(member.places) for member in group.members.values()) == len(group.owners), "two owners"
            for owner in group.owners.values():
                assert 0 < owner.ownership <= group.epoch, "an ownership ahead of its group"
            for member in group.members.values():
                assert 0 < member.joined_epoch <= member.member_epoch <= group.epoch, "a member ahead of its group"
        self._beats.check_invariants()
