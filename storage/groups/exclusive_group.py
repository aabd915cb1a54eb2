"""The state of one exclusive group: its members, and who owns which partition since when."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from storage.groups.assignors.task import Place
from storage.groups.member import GroupMember, SubscribedTopics
from storage.groups.records import NOBODY, Assigned, GroupWritten, MemberGone, MemberWritten, Owned
from storage.rpc.membership_messages import UNSAID, Ownership

FORGOTTEN = 0
"""In place of a number: the topic is no more, and who had its partitions need not be remembered."""


class Owner(NamedTuple):
    """`member` NOBODY: it was somebody's. Every owner from `gone_since` on and before this one is gone, every one from
    `left_since` on because it left. Where nobody has said that an owner is gone, it may be at work."""

    member: str
    ownership: int
    gone_since: int
    left_since: int

    @property
    def is_forced(self) -> bool:
        """The one before is gone."""
        return self.gone_since < self.ownership

    def gone(self, *, has_left: bool) -> "Owner":
        """What is left of it when its member goes."""
        return Owner(NOBODY, self.ownership, self.gone_since, self.left_since if has_left else self.ownership + 1)


def owner_after(before: Owner | None, member: str, ownership: int) -> Owner:
    """The next one of a partition. `before` is the last one that is known, if it is one."""
    if before is None or before.member != NOBODY:
        return Owner(member, ownership, ownership, ownership)
    return Owner(member, ownership, before.gone_since, before.left_since)


class ExclusiveGroup:
    """Changes by records only; `epoch` rises with each and never falls. `vacant` is what was somebody's and is
    nobody's, `vacated` by whom until it is assigned: one of the same name may be there again by then."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.members: dict[str, GroupMember] = {}
        self.owners: dict[Place, Owner] = {}
        self.vacant: dict[Place, Owner] = {}
        self.vacated: dict[Place, str] = {}
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
                    self.vacant[place] = self.owners.pop(place).gone(has_left=record.has_left)
                    self.vacated[place] = record.member
            case Assigned():
                self._assign(record.owned, record.epoch)
            case GroupWritten():
                self.members, self.owners, self.vacant, self.vacated = {}, {}, {}, {}
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
            gaining, owner = self.members.get(each.member), _owner_of(each)
            for partition in each.partitions:
                place = Place(each.topic_id, partition)
                before = self.owners.pop(place, None)
                losing = None if before is None else self.members.get(before.member)
                if losing is not None:
                    del losing.places[place]
                    if epoch is not None:
                        losing.member_epoch = epoch
                self.vacant.pop(place, None)
                self.vacated.pop(place, None)
                if gaining is not None:
                    self.owners[place] = owner
                    gaining.places[place] = None
                elif each.member == NOBODY and owner.gone_since != FORGOTTEN:
                    self.vacant[place] = owner
            if gaining is not None and epoch is not None:
                gaining.member_epoch = epoch

    def owned_by(self, member: GroupMember) -> list[Ownership]:
        """The whole of its assignment."""
        return [_told(place, self.owners[place]) for place in sorted(member.places)]

    def written(self) -> GroupWritten:
        """Everything, as one record."""
        members = tuple(member.written(self.group_id, self.epoch) for member in self.members.values())
        owned = owned_runs([*self.owners.items(), *self.vacant.items()])
        return GroupWritten(self.group_id, self.epoch, members, owned)


def _told(place: Place, owner: Owner) -> Ownership:
    return Ownership(*place, owner.ownership, owner.is_forced, owner.gone_since, owner.left_since)


def _owner_of(owned: Owned) -> Owner:
    is_said = owned.gone_since != UNSAID
    gone_since, left_since = (owned.gone_since, owned.left_since) if is_said else (owned.ownership, owned.ownership)
    return Owner(owned.member, owned.ownership, gone_since, left_since)


def owned_runs(owners: Iterable[tuple[Place, Owner]]) -> tuple[Owned, ...]:
    """As records have it: partitions of one topic, owner and number together."""
    runs: defaultdict[tuple[str, Owner], list[int]] = defaultdict(list)
    for place, owner in owners:
        runs[place.topic_id, owner].append(place.partition)
    return tuple(
        Owned(
            topic_id,
            owner.member,
            owner.ownership,
            owner.is_forced,
            tuple(sorted(partitions)),
            owner.gone_since,
            owner.left_since,
        )
        for (topic_id, owner), partitions in runs.items()
    )
