"""Everybody as many partitions as everybody else, within one, and as near as that allows the same lag in sum."""

import heapq

from storage.groups.assignors.task import Assignment, AssignmentTask


def assign_by_lag(task: AssignmentTask) -> Assignment:
    """The partition with the longest lag first, to whoever has fewest, of those to whoever has least lag to work off.
    Of equals who has it keeps it."""
    assignment: Assignment = {}
    loads = dict.fromkeys(task.names, (0, 0))
    order = sorted(range(len(task.places)), key=lambda index: (-task.lags.get(task.places[index], 0), index))
    heap = [(0, 0, name) for name in next(iter(task.subscribers.values()), ())] if task.is_alike else []
    for place in (task.places[index] for index in order):
        names = task.subscribers[place.topic_id]
        least = heap[0][:2] if heap else min(loads[name] for name in names)
        owner = task.owners.get(place, "")
        if loads.get(owner) == least and owner in names:
            name = owner
        elif heap:
            name = heap[0][2]
        else:
            name = next(each for each in names if loads[each] == least)
        count, lag = loads[name]
        loads[name] = (count + 1, lag + task.lags.get(place, 0))
        assignment[place] = name
        if heap:
            heapq.heappush(heap, (*loads[name], name))
            while heap[0][:2] != loads[heap[0][2]]:  # of before
                heapq.heappop(heap)
    return assignment
