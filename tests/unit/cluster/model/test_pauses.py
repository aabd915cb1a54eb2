"""What of a group is paused, against the plainest model of it: every partition on its own."""

from hypothesis import given
from hypothesis import strategies as st

from cluster.model.pauses import is_paused, with_pause, without_pause
from cluster.model.values import Pause

TOPICS = {"a": 3, "b": 2}
PLACES = {(topic, number) for topic, count in TOPICS.items() for number in range(count)}
_NAMED = st.one_of(
    st.just(("", ())),
    *[
        st.tuples(st.just(topic), st.lists(st.integers(0, count - 1), unique=True).map(tuple))
        for topic, count in TOPICS.items()
    ],
)


def within(topic: str, partitions: tuple[int, ...]) -> set[tuple[str, int]]:
    of_topic = {place for place in PLACES if topic in ("", place[0])}
    return {place for place in of_topic if not partitions or place[1] in partitions}


@given(st.lists(st.tuples(st.booleans(), _NAMED), max_size=12))
def test_it_is_as_if_every_partition_were_paused_on_its_own(steps: list) -> None:
    """But for a group that is paused as a whole, of which no topic goes on alone."""
    pauses: tuple[Pause, ...] = ()
    everything, places = False, set()
    for now_ms, (is_pause, (topic, partitions)) in enumerate(steps):
        if is_pause:
            pauses = with_pause(pauses, topic, partitions, now_ms=now_ms)
            everything = everything or topic == ""
            places |= set() if topic == "" else within(topic, partitions)
        else:
            pauses = without_pause(pauses, topic, partitions, partition_count=TOPICS.get(topic, 0))
            everything = everything and topic != ""
            places -= within(topic, partitions)
        assert {place for place in PLACES if is_paused(pauses, *place)} == (PLACES if everything else places)
        assert len({pause.topic_id for pause in pauses}) == len(pauses) <= 1 + len(TOPICS)


def test_what_is_paused_as_a_whole_is_paused_where_it_grows() -> None:
    pauses = with_pause((), "a", (), now_ms=1)
    assert is_paused(pauses, "a", 1_000)
    assert is_paused(with_pause((), "", (), now_ms=1), "a topic that comes later", 0)
    assert not is_paused(without_pause(pauses, "a", (2,), partition_count=3), "a", 2)


def test_it_keeps_the_time_of_its_first_pause() -> None:
    pauses = with_pause(with_pause((), "a", (1,), now_ms=1), "a", (0,), now_ms=2)
    assert pauses == (Pause(1, "a", (0, 1)),)
    assert with_pause(pauses, "a", (), now_ms=3) == (Pause(1, "a"),)
