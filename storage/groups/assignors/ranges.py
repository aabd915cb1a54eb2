"""Neighbouring partitions of a topic together: each member has one range of each topic."""

from storage.groups.assignors.task import Assignment, AssignmentTask, Place


def assign_ranges(task: AssignmentTask) -> Assignment:
    """The odd partitions of a topic go to those who have least by then, so that many small topics do not all end with
    the same member."""
    assignment: Assignment = {}
    counts = dict.fromkeys(task.names, 0)
    for topic_id, names in task.subscribers.items():
        partitions = task.partitions[topic_id]
        share, odd = divmod(len(partitions), len(names))
        favoured = set(sorted(names, key=lambda name: counts[name])[:odd])
        start = 0
        for name in names:
            end = start + share + (name in favoured)
            for partition in partitions[start:end]:
                assignment[Place(topic_id, partition)] = name
            counts[name] += end - start
            start = end
    return assignment
