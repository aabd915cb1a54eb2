"""However busy some partitions are, each is asked in its turn."""

from hypothesis import given
from hypothesis import strategies as st

from app.events.look_turns import LookTurns


@given(
    count=st.integers(1, 40),
    room=st.integers(4, 20),
    busy=st.sets(st.integers(0, 39), max_size=40),
)
def test_each_partition_is_asked_within_a_round(count: int, room: int, busy: set[int]) -> None:
    turns = LookTurns()
    places = [("t", number) for number in range(count)]
    turns.keep(places)
    asked: dict[tuple[str, int], int] = {}
    rounds = -(-count // max(1, room - room * 75 // 100)) + 1
    for interval in range(rounds):
        chosen = turns.next(room, interval * 1000)
        assert len(chosen) == len(set(chosen)) <= room
        for place in chosen:
            asked[place] = asked.get(place, 0) + 1
            turns.note(place, is_busy=place[1] in busy)
    assert set(asked) == set(places)


def test_who_is_gone_is_not_asked() -> None:
    turns = LookTurns()
    turns.keep([("t", 0), ("t", 1)])
    turns.note(("t", 1), is_busy=True)
    turns.keep([("t", 0), ("u", 0)])
    assert sorted(turns.next(10, 0)) == [("t", 0), ("u", 0)]
    turns.next(10, 700)
    assert turns.round_ms == 700
