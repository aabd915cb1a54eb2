"""Which partitions of a group get another owner."""

from collections.abc import Iterable, Mapping

from acklog.wire.name_patterns import is_pattern_for
from cluster.model.values import Assignor
from storage.groups.assignors.choice import ASSIGNORS
from storage.groups.assignors.task import AssignmentTask, Place
from storage.groups.exclusive_group import FORGOTTEN, ExclusiveGroup, Owner, owned_runs, owner_after
from storage.groups.member import SubscribedTopics
from storage.groups.records import NOBODY, Assigned, Owned
from storage.groups.surroundings import ExclusiveTerms, GroupSurroundings, TopicTable
from storage.rpc.membership_messages import Ownership


def changes_of(group: ExclusiveGroup, terms: ExclusiveTerms, surroundings: GroupSurroundings) -> tuple[Owned, ...]:
    """What the group's next epoch changes; empty where nothing has to move."""
    task = _task(group, terms, surroundings)
    wanted = ASSIGNORS[terms.assignor](task)
    ownership = group.epoch + 1
    changes = [
        (place, owner_after(group.owners.get(place) or group.vacant.get(place), name, ownership))
        for place, name in wanted.items()
        if place not in group.owners or group.owners[place].member != name
    ]
    is_known = surroundings.topics.name_of
    changes += [
        (place, owner_after(owner, NOBODY, ownership))
        for place, owner in group.owners.items()
        if place not in wanted and is_known(place.topic_id)
    ]
    forgotten = Owner(NOBODY, ownership, FORGOTTEN, FORGOTTEN)
    changes += [(place, forgotten) for place in (*group.owners, *group.vacant) if not is_known(place.topic_id)]
    return owned_runs(changes)


def renumbered_above(group: ExclusiveGroup, overtaken: Iterable[Ownership]) -> Assigned | None:
    """Whose everything is it stays, by numbers higher than those that partitions' leaders say they need; None where
    another owner has such a number here, and all is well. Where the log of `__groups` was lost the numbers began anew,
    and leaders would refuse them until they had risen by themselves."""
    owners = group.owners
    lost = [
        each.ownership
        for each in overtaken
        if (owner := owners.get(Place(each.topic_id, each.partition))) is not None and owner.ownership < each.ownership
    ]
    if not lost:
        return None
    epoch = max(group.epoch, *lost) + 1
    # Of those who had the numbers between nobody knows whether they are gone.
    owned = ((place, owner_after(None, owner.member, epoch)) for place, owner in {**owners, **group.vacant}.items())
    return Assigned(group.group_id, epoch, owned_runs(owned))


def is_concerned(group: ExclusiveGroup, topics: Mapping[str, str]) -> bool:
    """Whether some member subscribes to one of these topics (names by ids)."""
    return any(
        any(topic_id in topics for topic_id in subscription.topic_ids)
        or any(is_pattern_for(pattern, name) for pattern in subscription.patterns for name in topics.values())
        for subscription in {member.subscription for member in group.members.values()}
    )


def _task(group: ExclusiveGroup, terms: ExclusiveTerms, surroundings: GroupSurroundings) -> AssignmentTask:
    resolved: dict[SubscribedTopics, frozenset[str]] = {}
    for member in group.members.values():
        if member.subscription not in resolved:
            resolved[member.subscription] = _resolved(member.subscription, terms, surroundings.topics)
    task = AssignmentTask(
        subscriptions={name: resolved[member.subscription] for name, member in group.members.items()},
        partitions=surroundings.topics.partitions_of(frozenset().union(*resolved.values())),
        owners={place: owner.member for place, owner in group.owners.items()} | group.vacated,
        racks={name: member.rack for name, member in group.members.items() if member.rack},
        racks_of=surroundings.racks_of,
    )
    if terms.assignor is not Assignor.LAG:
        return task
    return AssignmentTask(
        task.subscriptions, task.partitions, task.owners, lags=surroundings.lags(group.group_id, task.places)
    )


def _resolved(subscription: SubscribedTopics, terms: ExclusiveTerms, topics: TopicTable) -> frozenset[str]:
    found = set(subscription.topic_ids)
    for pattern in subscription.patterns:
        for topic_id in topics.matching(pattern, terms.namespace):
            name = topics.name_of(topic_id)
            if not any(is_pattern_for(letters, name) for letters in terms.dead_letter_topics):
                found.add(topic_id)
    return frozenset(found)
