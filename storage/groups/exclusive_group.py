"""The state of one exclusive group: its members, and who owns which partition since when."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from storage.groups.assignors.task import Place
from storage.groups.member import GroupMember, SubscribedTopics
from storage.groups.records import NOBODY, Assigned, GroupWritten, MemberGone, MemberWritten, Owned
from storage.rpc.membership_messages import Ownership


class Owner(NamedTuple):
    member: str
    ownership: int
    is_forced: bool


class ExclusiveGroup:
    """Changes by records only; `epoch` rises with each and never falls."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.members: dict[str, GroupMember] = {}
        self.owners: dict[Place, Owner] = {}
        self._interned: dict[SubscribedTopics, SubscribedTopics] = {}

    def apply(self, record: MemberWritten | MemberGone | Assigned | GroupWritten, now_ms: int) -> None:
        """Sessions of members that appear begin at `now_ms`."""
        self.epoch = max(self.epoch, record.epoch)
        match record:
            case MemberWritten():
                self._write_member(record, now_ms)
            case MemberGone():
                member = self.members.pop(record.member, None)
                for place in () if member is None else member.places:
                    del self.owners[place]
            case Assigned():
                self._assign(record.owned, record.epoch)
            case GroupWritten():
                self.members, self.owners = {}, {}
                for member_record in record.members:
                    self._write_member(member_record, now_ms)
                self._assign(record.owned, None)

    def _write_member(self, record: MemberWritten, now_ms: int) -> None:
        member = self.members.get(record.member)
        if member is None:
            member = self.members[record.member] = GroupMember(record, now_ms)
        else:
            member.follow(record)
        # A thousand members of one subscription hold one copy of it.
        member.subscription = self._interned.setdefault(member.subscription, member.subscription)
        if len(self._interned) > 2 * len(self.members):
            self._interned = {each.subscription: each.subscription for each in self.members.values()}

    def _assign(self, owned: Iterable[Owned], epoch: int | None) -> None:
        """`epoch` None: nobody gains or loses by it, it was so before."""
        for each in owned:
            gaining = self.members.get(each.member)
            for partition in each.partitions:
                place = Place(each.topic_id, partition)
                before = self.owners.pop(place, None)
                losing = None if before is None else self.members.get(before.member)
                if losing is not None:
                    del losing.places[place]
                    if epoch is not None:
                        losing.member_epoch = epoch
                if gaining is not None:  # else nobody, or somebody who went before this log begins
                    self.owners[place] = Owner(each.member, each.ownership, each.is_forced)
                    gaining.places[place] = None
            if gaining is not None and epoch is not None:
                gaining.member_epoch = epoch

    def owned_by(self, member: GroupMember) -> list[Ownership]:
        """The whole of its assignment."""
        return [Ownership(*place, *self.owners[place][1:]) for place in sorted(member.places)]

    def written(self) -> GroupWritten:
        """Everything, as one record."""
        members = tuple(member.written(self.group_id, self.epoch) for member in self.members.values())
        return GroupWritten(self.group_id, self.epoch, members, owned_runs(self.owners.items()))


def owned_runs(owners: Iterable[tuple[Place, Owner]]) -> tuple[Owned, ...]:
    """As records have it: partitions of one topic, owner and number together."""
    runs: defaultdict[tuple[str, Owner], list[int]] = defaultdict(list)
    for place, owner in owners:
        runs[place.topic_id, owner].append(place.partition)
    return tuple(
        Owned(topic_id, owner.member or NOBODY, owner.ownership, owner.is_forced, tuple(sorted(partitions)))
        for (topic_id, owner), partitions in runs.items()
    )
