"""Retries and deadlines of plain calls, in virtual time."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acklog import AsyncClient, OutgoingMessage
from acklog.client import copy_calls
from acklog.client.call import Request, Response
from acklog.client.retry import Backoff, is_outcome_unknown, may_repeat
from acklog.errors import (
    AcklogError,
    CannotConnect,
    ClientClosed,
    ConnectionFailed,
    DeadlineExceeded,
    InvalidArgument,
    OutcomeUnknown,
    Overloaded,
    TopicNotFound,
    Unavailable,
)
from tests.sim.loop import SimLoop, simulate
from tests.unit.sdk.fake_log import answer, problem

Attempt = Callable[[], Response]
STORED = answer(201, {"messageId": "m", "partition": 0, "offset": 0})


class Scripted:
    """A transport that does one thing after the other."""

    def __init__(self, *attempts: Response | AcklogError) -> None:
        self.attempts = list(attempts)
        self.times_s: list[float] = []
        self.timeouts_s: list[float] = []

    async def perform(self, request: Request, *, timeout_s: float) -> Response:
        self.times_s.append(asyncio.get_running_loop().time())
        self.timeouts_s.append(timeout_s)
        attempt = self.attempts.pop(0)
        if isinstance(attempt, AcklogError):
            raise attempt
        return attempt

    async def close(self) -> None:
        pass


def send(
    transport: Scripted, *, idempotency_key: str | None = None, retries_max: int = 3, timeout_s: float = 30
) -> None:
    async def main(_loop: SimLoop) -> None:
        async with AsyncClient(transport=transport, retries_max=retries_max, timeout_s=timeout_s) as client:
            await client.send("orders", 1, idempotency_key=idempotency_key)

    simulate(0, main)


def test_what_may_pass_is_tried_again_with_growing_pauses() -> None:
    transport = Scripted(CannotConnect("no"), problem(503, "UNAVAILABLE", True), Overloaded("busy"), STORED)
    send(transport)
    pauses = [late - early for early, late in zip(transport.times_s, transport.times_s[1:], strict=False)]
    assert [0.05 <= pauses[0] <= 0.1, 0.1 <= pauses[1] <= 0.2, 0.2 <= pauses[2] <= 0.4] == [True] * 3


def test_tries_are_bounded() -> None:
    with pytest.raises(CannotConnect):
        send(Scripted(*[CannotConnect("no")] * 3), retries_max=2)


@pytest.mark.parametrize("error", [ConnectionFailed("broke"), DeadlineExceeded("late"), OutcomeUnknown("who knows")])
def test_a_send_whose_outcome_is_unknown_is_repeated_only_with_a_key(error: AcklogError) -> None:
    send(Scripted(error, STORED), idempotency_key="k")
    with pytest.raises(type(error)):
        send(Scripted(error, STORED))


def test_a_refusal_is_not_repeated() -> None:
    with pytest.raises(TopicNotFound):
        send(Scripted(problem(404, "TOPIC_NOT_FOUND", False)))


def test_the_deadline_counts_over_all_tries() -> None:
    transport = Scripted(problem(429, "OVERLOADED", True, headers={"retry-after": "6"}), STORED)
    send(transport, timeout_s=10)
    assert transport.timeouts_s[0] == 10
    assert transport.timeouts_s[1] == pytest.approx(4, abs=0.1)
    with pytest.raises(Overloaded):
        send(Scripted(problem(429, "OVERLOADED", True, headers={"retry-after": "6"})), timeout_s=5)


def test_a_batch_of_which_nothing_was_stored_is_tried_again_and_then_told() -> None:
    item = {"code": "OVERLOADED", "detail": "busy", "retriable": True}
    failure = problem(429, "OVERLOADED", True, results=[item], failed=1)

    async def main(_loop: SimLoop) -> None:
        async with AsyncClient(transport=Scripted(failure, failure), retries_max=1) as client:
            [error] = await client.send_many("orders", [OutgoingMessage(1)])
            assert isinstance(error, Overloaded)

    simulate(0, main)


def test_a_closed_client_says_so() -> None:
    async def main(_loop: SimLoop) -> None:
        client = AsyncClient(transport=Scripted())
        await client.close()
        with pytest.raises(ClientClosed):
            await client.health()

    simulate(0, main)


@given(attempt=st.integers(1, 10_000), chance=st.floats(0, 1), retry_after_s=st.none() | st.floats(0, 100))
def test_a_pause_is_within_its_bounds(attempt: int, chance: float, retry_after_s: float | None) -> None:
    backoff = Backoff(min_ms=100, max_ms=5000)
    error = Unavailable("not now", retry_after_s=retry_after_s)
    asked_ms = 0 if retry_after_s is None else retry_after_s * 1000
    pause_ms = backoff.delay_ms(attempt, chance=chance, error=error)
    assert max(50, asked_ms) - 1 <= pause_ms <= max(5000, asked_ms) + 1


def test_a_backoff_has_an_order() -> None:
    with pytest.raises(InvalidArgument):
        Backoff(min_ms=10, max_ms=5)


def test_what_may_be_repeated() -> None:
    assert not is_outcome_unknown(CannotConnect("no"))
    assert may_repeat(CannotConnect("no"), is_repeatable=False)
    assert not may_repeat(ConnectionFailed("broke"), is_repeatable=False)
    assert may_repeat(ConnectionFailed("broke"), is_repeatable=True)
    assert not may_repeat(TopicNotFound("no"), is_repeatable=True)


def read_a_cut(*attempts: Response | AcklogError, timeout_s: float) -> list[float]:
    """When it was tried."""
    transport = Scripted(*attempts)

    async def main(_loop: SimLoop) -> None:
        async with AsyncClient(transport=transport, timeout_s=timeout_s) as client:
            await client.copies.perform(copy_calls.document_at("/topics"))

    simulate(0, main)
    return transport.times_s


def test_backups_and_restores_wait_for_a_server_as_long_as_the_timeout_says() -> None:
    away = [CannotConnect("no"), ConnectionFailed("broke"), problem(503, "UNAVAILABLE", True)] * 3
    times_s = read_a_cut(*away, answer(200, {}), timeout_s=60)
    assert times_s[-1] - times_s[0] > 3
    with pytest.raises(CannotConnect):
        read_a_cut(*[CannotConnect("no")] * 30, timeout_s=10)


def test_backups_and_restores_do_not_try_again_what_stays_as_it_is() -> None:
    with pytest.raises(TopicNotFound):
        read_a_cut(problem(404, "TOPIC_NOT_FOUND", False), timeout_s=60)
