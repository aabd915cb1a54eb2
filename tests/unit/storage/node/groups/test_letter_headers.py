"""What a dead letter says of how it failed."""

import json

import pytest

from acklog.wire.failure_reason import FailureReason
from acklog.wire.letter_headers import ATTEMPTS_DIGITS_MAX, attempts_of
from acklog.wire.limits import FAILURE_REASONS_MAX, HEADER_VALUE_BYTES_MAX, NACK_REASON_BYTES_MAX
from acklog.wire.record import Record, Schedule
from storage.delivery.failures import FailureHistory
from storage.node.groups.dead_letter_sink import DeadLetter
from storage.node.groups.dead_letter_topics import DeadLetterTopics
from storage.node.redrive.sent_letters import sent_back
from tests.support.simulated_node import SimulatedNode, with_node

PREFIX = "acklog-dead-letter-"


def headers_of(history: FailureHistory, before: dict[str, str] | None = None) -> dict[str, str]:
    """As they are stored, without the prefix; other headers are left out."""
    found: dict[str, str] = {}

    async def main(sim: SimulatedNode) -> None:
        source, group = await sim.topic(), await sim.group()
        target = await sim.topic("orders.workers.dlq")
        sink = DeadLetterTopics(sim.topics, sim.metadata, lambda _: sim.node, clock=sim.clock)
        await sink.append(source, group, [DeadLetter(0, 7, 0, 1, 0, 3, Record(b"x", None, before), history)])
        [record] = await sim.records_in_log(target)
        headers = record.headers or {}
        found.update({name.removeprefix(PREFIX): value for name, value in headers.items() if name.startswith(PREFIX)})

    with_node(main)
    return found


def test_when_by_whom_and_why() -> None:
    reasons = (FailureReason(1, 5, "no customer"), FailureReason(3, 9, "ä\n"))
    headers = headers_of(FailureHistory(5, 9, "ada", reasons))
    assert (headers["first-time"], headers["last-time"], headers["last-consumer"]) == ("5", "9", "ada")
    assert json.loads(headers["reasons"]) == [
        {"attempt": 1, "at": 5, "reason": "no customer"},
        {"attempt": 3, "at": 9, "reason": "ä\n"},
    ]


def test_what_is_not_known_is_not_said() -> None:
    assert not {"first-time", "last-time", "last-consumer", "reasons"} & headers_of(FailureHistory()).keys()
    assert headers_of(FailureHistory(5, 5)).keys() & {"first-time", "last-consumer", "reasons"} == {"first-time"}


def test_all_reasons_fit_and_where_they_have_to_be_escaped_the_last_ones_do() -> None:
    plain, escaped = ("x" * NACK_REASON_BYTES_MAX, "\x01" * NACK_REASON_BYTES_MAX)
    for text, count in ((plain, FAILURE_REASONS_MAX), (escaped, 2)):
        reasons = tuple(FailureReason(attempt, 1 << 40, text) for attempt in range(1, FAILURE_REASONS_MAX + 1))
        header = headers_of(FailureHistory(1, 2, "ada", reasons))["reasons"]
        assert len(header.encode()) <= HEADER_VALUE_BYTES_MAX
        last = list(range(1, FAILURE_REASONS_MAX + 1))[-count:]
        assert [each["attempt"] for each in json.loads(header)] == last


def test_a_letter_that_dies_again_says_how_it_died_now() -> None:
    before = headers_of(FailureHistory(1, 2, "ada", (FailureReason(1, 2, "then"),)))
    again = headers_of(FailureHistory(5, 5), {PREFIX + name: value for name, value in before.items()})
    assert (again["first-time"], again["last-time"]) == ("5", "5")
    assert not {"last-consumer", "reasons"} & again.keys()


def with_prefix(headers: dict[str, str]) -> dict[str, str]:
    return {PREFIX + name: value for name, value in headers.items()}


def test_a_letter_that_dies_again_and_again_says_all_attempts_that_it_ever_had() -> None:
    first = with_prefix(headers_of(FailureHistory()))
    second = with_prefix(headers_of(FailureHistory(), first))
    third = with_prefix(headers_of(FailureHistory(), second))
    assert [attempts_of(each) for each in (None, {}, first, second, third)] == [0, 0, 3, 6, 9]
    assert third[f"{PREFIX}attempts"] == "3"


@pytest.mark.parametrize("text", ["", "-1", "x", "1e3", "\u0663", "1" * (ATTEMPTS_DIGITS_MAX + 1)])
def test_what_says_no_number_of_attempts_counts_nothing(text: str) -> None:
    assert attempts_of(with_prefix({"attempts": text, "attempts-before": "2"})) == 2


def test_the_longest_number_counts() -> None:
    assert attempts_of({f"{PREFIX}attempts": "9" * ATTEMPTS_DIGITS_MAX}) == 10**ATTEMPTS_DIGITS_MAX - 1


def first_id_of(record: Record) -> str | None:
    """Of the letter of a message."""
    found: list[str | None] = []

    async def main(sim: SimulatedNode) -> None:
        source, group = await sim.topic(), await sim.group()
        target = await sim.topic("orders.workers.dlq")
        sink = DeadLetterTopics(sim.topics, sim.metadata, lambda _: sim.node, clock=sim.clock)
        await sink.append(source, group, [DeadLetter(0, 7, 0, 1, 0, 3, record)])
        [letter] = await sim.records_in_log(target)
        found.append((letter.headers or {}).get("acklog-first-id"))

    with_node(main)
    return found[0]


def test_which_message_it_was_first_is_said_where_nothing_else_says_it() -> None:
    scheduled = Record(b"1", schedule=Schedule(at_ms=5, id="s-0"))
    assert first_id_of(Record(b"1")) is None, "the header of the message that died says it"
    assert first_id_of(scheduled) == "s-0"
    assert first_id_of(Record(b"1", headers={f"{PREFIX}message-id": "m-1"})) == "m-1", "it was a letter"
    assert first_id_of(Record(b"1", headers={f"{PREFIX}message-id": "m-1", "acklog-first-id": "m-0"})) == "m-0"


def test_what_is_sent_back_keeps_it() -> None:
    letter = Record(b"1", headers={f"{PREFIX}message-id": "m-1", f"{PREFIX}topic": "orders", "mine": "1"})
    back = sent_back(letter, "job", 0, 5)
    assert back.headers == {"mine": "1", "acklog-redrive": "job-0-5", "acklog-first-id": "m-1"}
    again = Record(b"1", headers={**back.headers, f"{PREFIX}message-id": "m-2"})
    assert (sent_back(again, "job", 0, 6).headers or {})["acklog-first-id"] == "m-1"
