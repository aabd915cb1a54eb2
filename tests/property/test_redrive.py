"""A redrive job sends each letter once, whenever its runners die, whoever overtakes whom."""

from collections import Counter
from collections.abc import Coroutine
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from cluster.model.redrives import LetterRange
from storage.redrive.part_runner import PartRunner
from storage.redrive.ports import SupersededError
from tests.property.redrive_world import RedriveWorld, ports_of

LETTERS_AT_ONCE = 2
LETTERS = ["a", "b", "a", "", "b", "a"]
REFUSED = 4


async def life(world: RedriveWorld) -> None:
    """Of a runner: until all is done, or somebody else is there."""
    runner = PartRunner(part_of(world), **ports_of(world))
    while True:
        try:
            await runner.resume()
            while not runner.is_done:
                await runner.step(letters_max=LETTERS_AT_ONCE)
        except ConnectionError:
            continue
        return


def part_of(world: RedriveWorld) -> LetterRange:
    count = len(world.targets_of)
    return LetterRange(0, 0, count, count)


def go_on(running: Coroutine[Any, Any, None]) -> bool:
    """One turn; False where it has ended."""
    try:
        running.send(None)
    except (StopIteration, SupersededError):
        return False
    return True


def finish(world: RedriveWorld) -> None:
    world.commit_all()
    for _ in range(10):
        running = life(world)
        while go_on(running):
            pass


def turns_of_a_life() -> int:
    world = RedriveWorld(LETTERS, [REFUSED])
    running, count = life(world), 0
    while go_on(running):
        count += 1
    return count


def check_once(world: RedriveWorld) -> None:
    expected = {offset for offset, target in enumerate(LETTERS) if target} - {REFUSED}
    assert Counter(world.sent()) == Counter(expected)
    assert world.handled == expected
    runner = PartRunner(part_of(world), **ports_of(world))
    reading = runner.resume()
    while go_on(reading):
        pass
    assert (runner.is_done, runner.part.moved, runner.part.failed) == (True, len(expected), 2)


def test_killed_between_any_two_steps() -> None:
    whole = turns_of_a_life()
    assert whole > 40
    for first in range(whole):
        world = RedriveWorld(LETTERS, [REFUSED])
        running = life(world)
        for _ in range(first):
            go_on(running)
        running.close()
        finish(world)
        check_once(world)


def test_killed_twice_between_any_two_steps() -> None:
    whole = turns_of_a_life()
    for first in range(whole):
        for second in range(0, whole, 3):
            world = RedriveWorld(LETTERS, [REFUSED])
            for count in (first, second):
                running = life(world)
                for _ in range(count):
                    if not go_on(running):
                        break
                running.close()
            finish(world)
            check_once(world)


STEP = (
    st.tuples(st.just("run"), st.integers(0, 3), st.integers(1, 12))
    | st.tuples(st.sampled_from(["begin", "kill"]), st.integers(0, 3), st.just(0))
    | st.tuples(st.sampled_from(["grow", "commit", "hang up", "arrive"]), st.just(0), st.just(0))
)
RETAIN = st.just(("retain", 0, 0))


def play(world: RedriveWorld, events: list[tuple[str, int, int]]) -> None:
    running: dict[int, Coroutine[Any, Any, None]] = {}
    for event, who, turns in events:
        if event == "begin" and who not in running:
            running[who] = life(world)
        elif event == "kill" and who in running:
            running.pop(who).close()
        elif event == "grow":
            world.grow()
        elif event == "commit":
            world.commit_all()
        elif event == "hang up":
            world.hangs_up = True
        elif event == "arrive":
            world.arrive()
        elif event == "retain":
            world.retain()
        elif event == "run" and who in running:
            for _ in range(turns):
                if not go_on(running[who]):
                    del running[who]
                    break
    for each in running.values():
        each.close()


@given(events=st.lists(STEP, max_size=40))
@settings(max_examples=300)
def test_runners_that_overtake_each_other(events: list[tuple[str, int, int]]) -> None:
    world = RedriveWorld(LETTERS, [REFUSED])
    play(world, events)
    finish(world)
    check_once(world)


@given(events=st.lists(STEP | RETAIN, max_size=40))
@settings(max_examples=300)
def test_never_twice_where_retention_removed_what_tells(events: list[tuple[str, int, int]]) -> None:
    """A letter that may have been sent stays unhandled then (rule R42)."""
    world = RedriveWorld(LETTERS, [REFUSED])
    play(world, events)
    finish(world)
    assert max(Counter(world.sent()).values(), default=0) <= 1
    assert world.handled <= set(world.sent())
