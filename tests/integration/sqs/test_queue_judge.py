"""The judge of queues finds what it is to find."""

import pytest

from tests.integration.sqs.queue_history import (
    Fault,
    Got,
    Outcome,
    QueueHistory,
    QueueJudge,
    Received,
    Sent,
    Settled,
    body_of,
)

VISIBILITY_S = 10.0


class Told:
    """A history that is told step by step: each takes one second from `at_s` on."""

    def __init__(self) -> None:
        self.history = QueueHistory()

    def send(self, at_s: float, body: str, message_id: str = "", outcome: Outcome = Outcome.OK) -> None:
        self.history.sent(
            Sent(body=body, message_id=message_id or body, outcome=outcome, began_s=at_s, ended_s=at_s + 1)
        )

    def receive(self, at_s: float, *bodies: str, message_id: str = "") -> Received:
        messages = tuple(Got(body=body, message_id=message_id or body, attempt=1) for body in bodies)
        received = Received(messages=messages, began_s=at_s, ended_s=at_s + 1)
        self.history.received(received)
        return received

    def settle(
        self, at_s: float, received: Received, body: str, *, message_id: str = "", is_delete: bool = True
    ) -> None:
        self.history.settled(
            Settled(
                body=body,
                message_id=message_id or body,
                received=received,
                outcome=Outcome.OK,
                is_delete=is_delete,
                began_s=at_s,
                ended_s=at_s + 1,
            )
        )

    def faults(self, *, is_fifo: bool = True) -> list[str]:
        return QueueJudge(self.history, is_fifo=is_fifo, visibility_s=VISIBILITY_S).faults()


A, B = body_of("a", 0), body_of("a", 1)


def test_nothing_is_wrong_with_what_is_right() -> None:
    told = Told()
    told.send(0, A)
    told.send(1, B)
    received = told.receive(2, A, B)
    told.settle(3, received, A)
    told.settle(4, received, B)
    assert told.faults() == []


def test_lost() -> None:
    told = Told()
    told.send(0, A)
    assert told.faults() == [f"{A} was acknowledged and never received"]


def test_refused_and_received() -> None:
    told = Told()
    told.send(0, A, outcome=Outcome.REFUSED)
    told.receive(1, A)
    assert told.faults() == [f"{A} was received, and was refused or never sent"]


@pytest.mark.parametrize("is_fifo", [True, False])
def test_deleted_and_received(is_fifo: bool) -> None:
    told = Told()
    told.send(0, A)
    told.settle(3, told.receive(1, A), A)
    told.receive(20, A)
    assert told.faults(is_fifo=is_fifo) == [f"{A} was received again after it was deleted"]


def test_deleted_by_an_older_handle_of_a_standard_queue() -> None:
    told = Told()
    told.send(0, A)
    first = told.receive(1, A)
    told.receive(13, A)
    told.settle(15, first, A)
    told.receive(30, A)
    assert told.faults(is_fifo=False) == []


@pytest.mark.parametrize("is_fifo", [True, False])
def test_received_while_hidden(is_fifo: bool) -> None:
    told = Told()
    told.send(0, A)
    told.receive(1, A)
    told.receive(5, A)
    assert told.faults(is_fifo=is_fifo) == [f"{'a' if is_fifo else A} was received while it was hidden"]


def test_given_back_it_is_not_hidden_nor_after_a_fault() -> None:
    told = Told()
    told.send(0, A)
    told.settle(3, told.receive(1, A), A, is_delete=False)
    told.receive(5, A)
    told.history.faults.append(Fault(began_s=6.5, ended_s=7))
    told.receive(8, A)
    assert told.faults() == []


def test_a_group_is_hidden_as_a_whole() -> None:
    told = Told()
    told.send(0, A)
    told.send(1, B)
    told.receive(2, A)
    told.receive(4, B)
    assert told.faults() == [
        "a was received while it was hidden",
        f"{B} was received before [0] of its group",
    ]


def test_duplicates() -> None:
    told = Told()
    told.send(0, A)
    told.send(1, A, "another")
    told.receive(2, A)
    assert told.faults() == [f"{A} is 2 messages"]
    assert told.faults(is_fifo=False) == []


def test_out_of_order_within_an_answer() -> None:
    told = Told()
    told.send(0, A)
    told.send(1, B)
    told.receive(2, B, A)
    assert len(told.faults()) == 2


def test_two_messages_of_one_body_are_two() -> None:
    """A standard queue has them where the answer to a send was lost."""
    told = Told()
    told.send(0, A, "one", outcome=Outcome.UNKNOWN)
    told.send(1, A, "two")
    copies = tuple(Got(body=A, message_id=each, attempt=1) for each in ("one", "two"))
    both = Received(messages=copies, began_s=2, ended_s=3)
    told.history.received(both)
    told.settle(4, both, A, message_id="one")
    told.receive(20, A, message_id="two")
    assert told.faults(is_fifo=False) == []
    told.receive(21, A, message_id="two")
    assert told.faults(is_fifo=False) == ["two was received while it was hidden"]
    told.receive(50, A, message_id="one")
    assert told.faults(is_fifo=False) == [
        f"{A} was received again after it was deleted",
        "two was received while it was hidden",
    ]
