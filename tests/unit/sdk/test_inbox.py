import msgspec
from hypothesis import given
from hypothesis import strategies as st

from acklog.consumer.consumer_settings import ConsumerSettings
from acklog.consumer.inbox import FIRST_TARGET, Inbox
from acklog.messages import Message

FIELDS = {"messageId": "m", "queue": "t", "partition": 0, "timestamp": 1, "appendTime": 1, "receipt": "r"}


def messages(count: int, size: int = 10) -> list[Message]:
    return [
        msgspec.json.decode(msgspec.json.encode({**FIELDS, "offset": number, "body": "x" * size}), type=Message)
        for number in range(count)
    ]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def work(inbox: Inbox, clock: Clock, rounds: int, *, ms_each: float) -> None:
    """Take what is asked for, at so many milliseconds each."""
    for _ in range(rounds):
        wanted = inbox.wanted_messages()
        if wanted:
            inbox.add(messages(wanted), clock.now)
        while not inbox.wanted_messages():
            clock.now += ms_each
            assert inbox.take(clock) is not None


def test_fast_work_is_given_much_ahead() -> None:
    inbox, clock = Inbox(ConsumerSettings(prefetch_messages_max=2000)), Clock()
    assert inbox.wanted_messages() == FIRST_TARGET
    work(inbox, clock, 20, ms_each=0.01)
    assert inbox.target == 2000


def test_slow_work_is_given_nothing_ahead() -> None:
    inbox, clock = Inbox(ConsumerSettings()), Clock()
    work(inbox, clock, 10, ms_each=5000)
    assert inbox.target == 1
    assert len(inbox.lanes) <= 1


def test_what_is_here_is_what_is_worked_on_in_the_time_that_was_asked_for() -> None:
    inbox, clock = Inbox(ConsumerSettings(prefetch_s=2)), Clock()
    work(inbox, clock, 50, ms_each=20)
    assert 50 <= inbox.target <= 110


def test_bytes_are_bounded() -> None:
    inbox, clock = Inbox(ConsumerSettings(prefetch_bytes_max=10_000)), Clock()
    inbox.add(messages(3, 4000), clock.now)
    assert inbox.size_bytes > 10_000
    assert inbox.wanted_messages() == 0
    for _ in range(3):
        inbox.take(clock)
    assert inbox.size_bytes == 0
    assert inbox.wanted_bytes() == 10_000


def test_emptying_it_gives_everything_back() -> None:
    inbox, clock = Inbox(ConsumerSettings()), Clock()
    inbox.add(messages(3), clock.now)
    inbox.take(clock)
    assert inbox.empty() == 2
    assert (len(inbox.lanes), inbox.size_bytes, inbox.take(clock)) == (0, 0, None)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40), st.floats(0, 1000)), max_size=30))
def test_messages_come_out_in_their_order_and_the_bytes_add_up(steps: list[tuple[int, int, float]]) -> None:
    inbox, clock = Inbox(ConsumerSettings(prefetch_messages_max=500)), Clock()
    added = taken = 0
    for add, take, pause_ms in steps:
        clock.now += pause_ms
        arrived = messages(add)
        for message in arrived:
            message.offset += added
        added += add
        inbox.add(arrived, clock.now)
        for _ in range(take):
            message_taken = inbox.take(clock)
            if message_taken is None:
                break
            assert message_taken.offset == taken
            taken += 1
        assert len(inbox.lanes) == added - taken
        assert 1 <= inbox.target <= 500
        assert 0 <= inbox.wanted_messages() <= 1000
        assert (inbox.size_bytes == 0) == (added == taken)
