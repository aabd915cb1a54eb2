"""Partition after partition to member after member."""

from storage.groups.assignors.task import Assignment, AssignmentTask


def assign_round_robin(task: AssignmentTask) -> Assignment:
    """Where subscriptions differ, to the next one in turn that subscribes to it and has no more than the others that
    do."""
    assignment: Assignment = {}
    counts = dict.fromkeys(task.names, 0)
    turns: dict[tuple[str, ...], int] = {}
    for place in task.places:
        names = task.subscribers[place.topic_id]
        turn = turns.get(names, 0)
        if not task.is_alike:
            least = min(counts[name] for name in names)
            turn = next(turn + step for step in range(len(names)) if counts[names[(turn + step) % len(names)]] == least)
        name = names[turn % len(names)]
        turns[names] = (turn + 1) % len(names)
        assignment[place] = name
        counts[name] += 1
    return assignment
