"""Assignors against naive models: everybody within one, nobody twice, and no more moves than have to be."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.model.values import Assignor
from storage.groups.assignors.choice import ASSIGNORS
from storage.groups.assignors.task import Assignment, AssignmentTask, Place

TOPICS = ["a", "b", "c", "d"]
MEMBERS = [f"m{number}" for number in range(7)]
RACKS = ["", "x", "y"]

partitions_of = st.dictionaries(st.sampled_from(TOPICS), st.integers(0, 9), min_size=1)
some_members = st.lists(st.sampled_from(MEMBERS), unique=True, min_size=1)


@st.composite
def tasks(draw: st.DrawFn, *, alike: bool) -> AssignmentTask:
    counts = draw(partitions_of)
    partitions = {topic: tuple(range(counts[topic])) for topic in sorted(counts)}
    names = draw(some_members)
    every = frozenset(partitions)
    subscriptions = {
        name: every if alike else frozenset(draw(st.sets(st.sampled_from(TOPICS), min_size=1))) for name in names
    }
    places = [Place(topic, number) for topic, numbers in partitions.items() for number in numbers]
    owners = {place: draw(st.sampled_from(names)) for place in places if draw(st.booleans())}
    racks = {name: draw(st.sampled_from(RACKS)) for name in names}
    lags = {place: draw(st.integers(0, 100)) for place in places}
    return AssignmentTask(
        subscriptions, partitions, owners, racks, racks_of=lambda place: [RACKS[1 + place.partition % 2]], lags=lags
    )


def counts_of(task: AssignmentTask, assignment: Assignment) -> dict[str, int]:
    return {name: list(assignment.values()).count(name) for name in task.subscriptions}


def check_whole(task: AssignmentTask, assignment: Assignment) -> None:
    wanted = {
        Place(topic, number)
        for topic, numbers in task.partitions.items()
        for number in numbers
        if any(topic in topics for topics in task.subscriptions.values())
    }
    assert set(assignment) == wanted
    assert all(place.topic_id in task.subscriptions[name] for place, name in assignment.items())


def fewest_moves(task: AssignmentTask) -> int:
    """By trying who may have the odd ones: what each has beyond its share has to go."""
    had = counts_of(task, dict(task.owners))
    total = sum(len(numbers) for numbers in task.partitions.values())
    share, odd = divmod(total, len(had))
    return min(
        sum(max(0, had[name] - share - (name in favoured)) for name in had) for favoured in combinations(had, odd)
    )


@pytest.mark.parametrize("assignor", Assignor)
@given(task=tasks(alike=True))
def test_everybody_has_as_much_as_everybody_else(assignor: Assignor, task: AssignmentTask) -> None:
    assignment = ASSIGNORS[assignor](task)
    check_whole(task, assignment)
    counts = counts_of(task, assignment).values()
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("assignor", Assignor)
@given(task=tasks(alike=False))
def test_everybody_gets_only_what_they_subscribe_to(assignor: Assignor, task: AssignmentTask) -> None:
    check_whole(task, ASSIGNORS[assignor](task))


@given(task=tasks(alike=False))
def test_no_partition_could_move_to_somebody_who_has_two_less(task: AssignmentTask) -> None:
    assignment = ASSIGNORS[Assignor.STICKY](task)
    counts = counts_of(task, assignment)
    for place, name in assignment.items():
        takers = [other for other, topics in task.subscriptions.items() if place.topic_id in topics]
        assert counts[name] - min(counts[other] for other in takers) <= 1


@given(task=tasks(alike=True))
def test_sticky_moves_only_what_has_to_move(task: AssignmentTask) -> None:
    assignment = ASSIGNORS[Assignor.STICKY](task)
    moved = sum(assignment[place] != name for place, name in task.owners.items())
    assert moved == fewest_moves(task)


@pytest.mark.parametrize("assignor", Assignor)
@given(task=tasks(alike=False))
def test_what_is_assigned_stays_so(assignor: Assignor, task: AssignmentTask) -> None:
    once = ASSIGNORS[assignor](task)
    again = AssignmentTask(
        task.subscriptions, task.partitions, once, task.racks, racks_of=task.racks_of, lags=task.lags
    )
    assert ASSIGNORS[assignor](again) == once


def _task(members: int, partitions: int, owners: Assignment | None = None, **more: object) -> AssignmentTask:
    names = [f"m{number:03}" for number in range(members)]
    return AssignmentTask(
        dict.fromkeys(names, frozenset({"a"})),
        {"a": tuple(range(partitions))},
        owners or {},
        **more,  # type: ignore[arg-type]
    )


def test_one_more_of_ten_moves_nine_of_a_hundred_partitions() -> None:
    before = ASSIGNORS[Assignor.STICKY](_task(10, 100))
    after = ASSIGNORS[Assignor.STICKY](_task(11, 100, before))
    assert sum(before[place] != after[place] for place in before) == 9


def test_one_less_of_ten_moves_what_it_had() -> None:
    before = ASSIGNORS[Assignor.STICKY](_task(10, 100))
    kept = {place: name for place, name in before.items() if name != "m009"}
    after = ASSIGNORS[Assignor.STICKY](_task(9, 100, kept))
    assert sum(kept[place] != after[place] for place in kept) == 0


def test_ranges_are_neighbours() -> None:
    ranges = ASSIGNORS[Assignor.RANGE](_task(3, 8))
    assert list(ranges.values()) == ["m000"] * 3 + ["m001"] * 3 + ["m002"] * 2


def test_what_is_free_goes_to_who_is_near() -> None:
    racks = {"m000": "x", "m001": "y"}
    task = _task(2, 10, racks=racks, racks_of=lambda place: ["x" if place.partition < 5 else "y"])
    assignment = ASSIGNORS[Assignor.STICKY](task)
    assert [assignment[Place("a", number)] for number in range(10)] == ["m000"] * 5 + ["m001"] * 5


def test_lag_is_evened_out() -> None:
    lags = {Place("a", number): lag for number, lag in enumerate([100, 90, 10, 0])}
    assignment = ASSIGNORS[Assignor.LAG](_task(2, 4, lags=lags))
    of = {name: sum(lags[place] for place in assignment if assignment[place] == name) for name in ("m000", "m001")}
    assert of == {"m000": 100, "m001": 100}
