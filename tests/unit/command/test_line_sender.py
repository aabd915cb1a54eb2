"""Sending a stream: results in order, failures where they belong, an end when it is pointless to go on."""

import threading
from collections.abc import Iterator

import pytest

from acklog.command import line_sender
from acklog.command.input_lines import InputLine
from acklog.command.line_sender import LineSender
from acklog.command.outgoing import MessageForm
from acklog.errors import BufferFull, CannotConnect, MessageTooLarge
from acklog.messages import OutgoingMessage, Sent

WAIT_S = 10


class Delivery:
    """One that is decided when `outcome` is set."""

    def __init__(self, outcome: Sent | Exception | None = None) -> None:
        self.is_decided = threading.Event()
        if outcome is not None:
            self.decide(outcome)

    def decide(self, outcome: Sent | Exception) -> None:
        self.outcome = outcome
        self.is_decided.set()

    def result(self, timeout_s: float | None = None) -> Sent:
        assert self.is_decided.wait(WAIT_S)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


class Report:
    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []
        self.was_told = threading.Condition()
        self.breaks_at = 0

    def sent(self, line_number: int, sent: Sent) -> None:
        if line_number == self.breaks_at:
            raise BrokenPipeError
        self._tell("sent", line_number)

    def failed(self, line_number: int, error: Exception) -> None:
        self._tell("failed", line_number)

    def given_up(self, line_number: int, error: Exception) -> None:
        self._tell("given up", line_number)

    def caught_up(self) -> None:
        return

    def wait_for(self, count: int) -> None:
        with self.was_told:
            assert self.was_told.wait_for(lambda: len(self.told) >= count, WAIT_S)

    def _tell(self, what: str, line_number: int) -> None:
        with self.was_told:
            self.told.append((what, line_number))
            self.was_told.notify_all()


def stored(number: int) -> Sent:
    return Sent(f"m-{number}", 0, number)


def lines(*texts: str) -> Iterator[InputLine]:
    return (InputLine(number, text.encode()) for number, text in enumerate(texts, 1))


def test_results_are_told_in_order() -> None:
    deliveries = [Delivery(), Delivery(), Delivery()]
    waiting = iter(deliveries)
    report = Report()

    def feed() -> Iterator[InputLine]:
        yield from lines("1", "2", "3")
        for number in (2, 1, 0):
            deliveries[number].decide(stored(number))

    totals = LineSender(lambda message: next(waiting), MessageForm(), report).run(feed())
    assert report.told == [("sent", 1), ("sent", 2), ("sent", 3)]
    assert (totals.sent, totals.failed, totals.first_id, totals.last_id) == (3, 0, "m-0", "m-2")


def test_what_is_to_be_seen_later_goes_by_its_schedule_id() -> None:
    later = Sent(None, 0, None, schedule_id="s-1", deliver_at_ms=5)
    totals = LineSender(lambda message: Delivery(later), MessageForm(), Report()).run(lines("1"))
    assert (totals.first_id, totals.last_id) == ("s-1", "s-1")


def test_a_result_is_told_while_the_next_line_is_not_there_yet() -> None:
    report = Report()

    def feed() -> Iterator[InputLine]:
        yield InputLine(1, b"1")
        report.wait_for(1)  # `tail -f log | acklog send` reads on only when somebody writes
        yield InputLine(2, b"2")

    totals = LineSender(lambda message: Delivery(stored(1)), MessageForm(), report).run(feed())
    assert totals.sent == 2


def test_a_line_that_is_at_fault_does_not_stop_the_others() -> None:
    report = Report()
    outcomes: dict[bytes, Sent | Exception] = {b"1": stored(1), b"3": MessageTooLarge("too large"), b"4": stored(4)}

    def send(message: OutgoingMessage) -> Delivery:
        return Delivery(outcomes[bytes(message.body)])

    totals = LineSender(send, MessageForm(), report).run(lines("1", "{", "3", "4"))
    assert report.told == [("sent", 1), ("failed", 2), ("failed", 3), ("sent", 4)]
    assert (totals.sent, totals.failed, totals.given_up, totals.stopped_by) == (2, 2, 0, None)


@pytest.mark.parametrize("is_refused_at_once", [True, False])
def test_a_server_that_is_away_ends_it(is_refused_at_once: bool) -> None:
    report = Report()

    def send(message: OutgoingMessage) -> Delivery:
        if is_refused_at_once:
            raise BufferFull("no room")
        return Delivery(CannotConnect("nobody there"))

    def feed() -> Iterator[InputLine]:
        yield InputLine(1, b"1")
        report.wait_for(1)
        yield InputLine(2, b"2")
        raise AssertionError("there was nothing to gain from another line")

    totals = LineSender(send, MessageForm(), report).run(feed())
    assert report.told == [("given up", 1)]
    assert (totals.given_up, totals.stopped_at) == (1, 1)


def test_what_the_reporter_raises_ends_it() -> None:
    report = Report()
    report.breaks_at = 2
    with pytest.raises(BrokenPipeError):
        LineSender(lambda message: Delivery(stored(1)), MessageForm(), report).run(lines("1", "2", "3"))
    assert report.told[0] == ("sent", 1)


def test_lines_without_a_result_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_sender, "PENDING_LINES_MAX", 5)
    report = Report()
    gate = Delivery()
    read: list[int] = []
    is_full = threading.Event()

    def feed() -> Iterator[InputLine]:
        for number in range(1, 101):
            read.append(number)
            if number == 7:  # one is waited for, five wait behind it, the seventh finds no room
                is_full.set()
            yield InputLine(number, b"1")

    sender = LineSender(lambda message: gate, MessageForm(), report)
    thread = threading.Thread(target=sender.run, args=(feed(),), daemon=True)
    thread.start()
    assert is_full.wait(WAIT_S)
    assert len(read) == 7
    gate.decide(stored(1))
    thread.join(WAIT_S)
    assert len(report.told) == 100
