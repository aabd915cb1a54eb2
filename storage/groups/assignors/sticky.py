"""Everybody as much as everybody else, within one; and only what has to move for that moves.

Who subscribes to other topics than the rest gets as near to that as its topics allow: no partition could move to a
member that has two less.
"""

import heapq
from collections import defaultdict, deque
from collections.abc import Iterator

from storage.groups.assignors.task import Assignment, AssignmentTask, Place


def assign_sticky(task: AssignmentTask) -> Assignment:
    kept = _kept(task)
    return _by_quota(task, kept) if task.is_alike else _by_moves(task, kept)


def _kept(task: AssignmentTask) -> dict[str, list[Place]]:
    """What each member has and may keep, if it were for its subscription alone."""
    kept: dict[str, list[Place]] = {name: [] for name in task.names}
    for place in task.places:
        owner = task.owners.get(place)
        if owner in kept and place.topic_id in task.subscriptions[owner]:
            kept[owner].append(place)
    return kept


def _by_quota(task: AssignmentTask, kept: dict[str, list[Place]]) -> Assignment:
    """Everybody keeps up to a share; the members that have most may have the odd ones, so that least is given up."""
    if not task.places:
        return {}
    names = next(iter(task.subscribers.values()))
    share, odd = divmod(len(task.places), len(names))
    quotas: dict[str, int] = {}
    for rank, name in enumerate(sorted(names, key=lambda each: -len(kept[each]))):
        quotas[name] = share + (rank < odd)
    assignment: Assignment = {}
    for name in names:
        own = kept[name]
        if len(own) > quotas[name]:
            rack = task.racks.get(name, "")
            own = sorted(own, key=lambda place: _is_far(task, place, rack)) if rack else own
        for place in own[: quotas[name]]:
            assignment[place] = name
        quotas[name] -= min(len(own), quotas[name])
    return _filled(task, assignment, {name: quotas[name] for name in names if quotas[name]})


def _filled(task: AssignmentTask, assignment: Assignment, room: dict[str, int]) -> Assignment:
    """The rest goes where there is room: to who is near to it first, to the others in turn."""
    rest = [place for place in task.places if place not in assignment]
    near: defaultdict[str, deque[str]] = defaultdict(deque)
    for name in room:
        if task.racks.get(name):
            near[task.racks[name]].append(name)
    far: list[Place] = []
    for place in rest:
        neighbour = _pop_near(task, place, near, room) if near else None
        if neighbour is None:
            far.append(place)
        else:
            assignment[place] = neighbour
    turns: Iterator[str] = iter(())
    for place in far:
        name = next(turns, "")
        if not name:
            turns = iter([each for each in room if room[each]])
            name = next(turns)
        assignment[place] = name
        room[name] -= 1
    return assignment


def _pop_near(task: AssignmentTask, place: Place, near: dict[str, deque[str]], room: dict[str, int]) -> str | None:
    for rack in task.racks_of(place):
        names = near.get(rack)
        while names:
            name = names.popleft()
            if room[name]:
                room[name] -= 1
                names.append(name)
                return name
    return None


def _is_far(task: AssignmentTask, place: Place, rack: str) -> bool:
    return rack not in task.racks_of(place)


def _by_moves(task: AssignmentTask, kept: dict[str, list[Place]]) -> Assignment:
    """What nobody has goes to whoever has least; then partitions move from who has most, one by one, while that
    helps."""
    assignment = {place: name for name, places in kept.items() for place in places}
    counts = {name: len(places) for name, places in kept.items()}
    by_subscribers: defaultdict[tuple[str, ...], list[Place]] = defaultdict(list)
    for place in task.places:
        by_subscribers[task.subscribers[place.topic_id]].append(place)
    for names, places in sorted(by_subscribers.items(), key=lambda item: len(item[0])):
        heap = [(counts[name], name) for name in names]
        heapq.heapify(heap)
        for place in places:
            if place not in assignment:
                count, name = heap[0]
                assignment[place] = name
                counts[name] = count + 1
                heapq.heapreplace(heap, (count + 1, name))
    has_moved = True
    while has_moved:
        moved = [_level(names, places, assignment, counts) for names, places in by_subscribers.items()]
        has_moved = any(moved)
    return assignment


def _level(names: tuple[str, ...], places: list[Place], assignment: Assignment, counts: dict[str, int]) -> bool:
    """Level these partitions among their subscribers; whether anything moved."""
    held: dict[str, list[Place]] = {name: [] for name in names}
    for place in places:
        held[assignment[place]].append(place)
    givers = [(-counts[name], name) for name in names]
    takers = [(counts[name], name) for name in names]
    heapq.heapify(givers)
    heapq.heapify(takers)
    has_moved = False
    while givers:
        most, giver = givers[0]
        least, taker = takers[0]
        if least != counts[taker]:
            heapq.heapreplace(takers, (counts[taker], taker))
        elif not held[giver]:
            heapq.heappop(givers)
        elif -most != counts[giver]:
            heapq.heapreplace(givers, (-counts[giver], giver))
        elif -most < least + 2:
            break
        else:
            place = held[giver].pop()
            assignment[place] = taker
            held[taker].append(place)
            counts[giver] -= 1
            counts[taker] += 1
            heapq.heappush(givers, (-counts[taker], taker))
            has_moved = True
    return has_moved
