"""The lanes of a consumer against a naive model: whatever workers take, give back and finish, each lane keeps its order
and is in one worker's hands."""

from collections import defaultdict
from typing import cast

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from acklog.consumer.consumer_settings import ConsumerSettings
from acklog.consumer.holdings import Holdings
from acklog.consumer.lanes import Lanes, key_lane
from acklog.consumer.partition_lanes import PartitionLanes, first_of_each
from acklog.errors import ReceiptStale
from acklog.members import TopicPartition
from acklog.messages import Message, Settled, Settler

FIELDS = {"messageId": "m", "queue": "t", "timestamp": 1, "appendTime": 1, "bodyBase64": ""}
SETTLER = cast("Settler", None)
FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
WORKERS = ("ann", "ben", "cleo")


def message(offset: int, *, key: str | None = None, partition: int = 0, receipt: str = "") -> Message:
    fields = {**FIELDS, "offset": offset, "key": key, "partition": partition}
    return msgspec.convert({**fields, "receipt": receipt or f"r-{partition}-{offset}"}, Message)


def offsets(messages: list[Message]) -> list[int]:
    return [each.offset for each in messages]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from("abc")),
        st.tuples(st.just("take"), st.sampled_from(WORKERS)),
        st.tuples(st.just("done"), st.integers(0, 9)),
        st.tuples(st.just("back"), st.integers(0, 9)),
    ),
    max_size=80,
)


@given(STEPS)
def test_lanes_against_a_naive_model(steps: list[tuple[str, object]]) -> None:
    """The model: per key a list of what waits, and who has which of it."""
    lanes = Lanes(key_lane)
    waiting: dict[str, list[int]] = defaultdict(list)
    held: dict[str, dict[int, str]] = defaultdict(dict)
    hands: list[Message] = []
    ended: set[int] = set()
    for number, (step, detail) in enumerate(steps):
        if step == "add":
            key = str(detail)
            lanes.add([message(number, key=key)], 0)
            waiting[key].append(number)
        elif step == "take":
            worker = str(detail)
            possible = {key for key, each in waiting.items() if each and set(held[key].values()) <= {worker}}
            assert lanes.has_for(worker) == bool(possible)
            taken = lanes.take(worker)
            assert (taken is not None) == bool(possible)
            if taken is not None and taken.key is not None:
                assert taken.key in possible
                assert taken.offset == waiting[taken.key].pop(0)
                held[taken.key][taken.offset] = worker
                hands.append(taken)
        elif hands:
            settled = hands.pop(int(str(detail)) % len(hands))
            key = str(settled.key)
            assert lanes.is_ended(settled) == (settled.offset in ended)
            if step == "back" and settled.offset not in ended:
                assert offsets(lanes.came_back(settled, None)) == waiting[key]
                ended |= {each for each in held[key] if each > settled.offset}
                waiting[key].clear()
            del held[key][settled.offset]
            assert lanes.settled(settled) == (not held[key] and bool(waiting[key]))
        assert len(lanes) == sum(map(len, waiting.values()))
    if not hands:
        assert not lanes._of_receipt or any(waiting.values()), "nothing is kept of what is gone"


def test_what_comes_after_a_rewind_is_told_from_what_came_before() -> None:
    lanes = PartitionLanes()
    lanes.assign(frozenset({FIRST}))
    lanes.add([message(offset) for offset in range(3)], 1)
    failed = lanes.take("w")
    assert failed is not None
    assert offsets(lanes.came_back(failed, None)) == [1, 2]
    lanes.settled(failed)
    assert lanes.position(FIRST) == 0
    # A receive that was under way brings what was given out before the server heard of it.
    assert offsets(lanes.add([message(3), message(4)], 2).dropped) == [3, 4]
    lanes.returned([failed.receipt], 3)
    assert offsets(lanes.add([message(5)], 3).dropped) == [5]
    # The message itself shows that the server has gone back, and so does what was asked for later.
    assert offsets(lanes.add([message(0, receipt="again"), message(1)], 3).kept) == [0, 1]
    assert offsets(lanes.add([message(2)], 4).kept) == [2]


def test_a_message_that_never_comes_again_does_not_hold_up_its_partition() -> None:
    lanes = PartitionLanes()
    lanes.assign(frozenset({FIRST}))
    lanes.add([message(7)], 1)
    failed = lanes.take("w")
    assert failed is not None
    lanes.came_back(failed, None)
    lanes.settled(failed)
    lanes.returned([failed.receipt], 1)
    assert offsets(lanes.add([message(8)], 2).kept) == [8], "it went to the dead letters"


def test_what_is_not_assigned_or_paused_waits() -> None:
    lanes = PartitionLanes()
    lanes.add([message(0), message(0, partition=1)], 1)
    assert lanes.has_strangers
    assert lanes.take("w") is None
    lanes.assign(frozenset({FIRST, SECOND}))
    assert not lanes.has_strangers
    lanes.pause([FIRST])
    assert len(lanes) == 1
    taken = lanes.take("w")
    assert taken is not None
    assert (taken.partition, lanes.take("w")) == (1, None)
    lanes.resume([FIRST])
    assert lanes.take("w") is not None
    lanes.add([message(1), message(2), message(1, partition=1)], 1)
    lanes.pause([SECOND])
    assert offsets(lanes.assign(frozenset({SECOND}))) == [1, 2]
    assert lanes.paused == {SECOND}
    lanes.assign(frozenset())
    lanes.assign(frozenset({SECOND}))
    assert lanes.paused == frozenset(), "what comes anew is not paused"


def test_what_may_have_been_given_out_after_a_seek_goes_back() -> None:
    """Its answer may overtake that to the seek: kept for nobody, it would come again when its lease runs out."""
    holdings = Holdings(ConsumerSettings(), PartitionLanes(), lambda: 0.0, lambda: None, auto_ack=False)
    holdings.assign(frozenset({FIRST}))
    holdings.arrived([message(5), message(6)], holdings.begin_receive(), settler=SETTLER)
    holdings.sought(FIRST)
    step, _, _, _ = holdings.next_step()
    assert step is not None
    assert (step.action, step.receipts, step.delay_s) == ("nack", ["r-0-5", "r-0-6"], 0)
    stale = [Settled(each, None, ReceiptStale("the group was sought")) for each in step.receipts]
    holdings.finished(step, stale, chance=0.5)
    assert holdings.next_step()[2] == [], "which is no news"
    assert holdings.take("w") is None


def test_the_first_of_each_partition_takes_the_others_back() -> None:
    several = [message(3), message(2), message(5, partition=1), message(9, partition=1)]
    assert [(each.partition, each.offset) for each in first_of_each(several)] == [(0, 2), (1, 5)]
