"""Storing messages with idempotency keys in one partition, each at most once within the dedup window.

A run is stored whole or not at all, since it never leaves its batch, and a batch holds whatever one request can bring.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from acklog.wire.problems import ProblemCode
from app.calls.send_result import Placed, ScheduledPlace, SendResult
from app.services.keyed_runs import Run, key_reused
from cluster.errors import ServerError
from storage.rpc.messages import KeyedResult, ProduceResponse
from storage.rpc.schedule_messages import MESSAGES_LOG

Store = Callable[[list[Run]], Awaitable[ProduceResponse]]
"""Appends one batch of runs, which stand one behind the other."""


class NotePlaces(Protocol):
    """Notes where runs are that were stored one behind the other."""

    def __call__(self, answer: ProduceResponse, partition: int, sent: list[Run], result: SendResult, /) -> None: ...


async def store_runs(
    store: Store, place: NotePlaces, partition: int, runs: list[Run], result: SendResult, *, rounds_max: int
) -> None:
    """Store what of `runs` (at least one) the window does not know. What it knows gets its first ids, and the rest is
    sent again without it.

    The failure of `store` is the fault of each message that has no result by then.
    """
    try:
        for _ in range(rounds_max):
            answer = await store(runs)
            if not answer.known:
                place(answer, partition, runs, result)
                return
            runs = without_known(answer.known, partition, runs, result)
            if not runs:
                return
    except ServerError as error:
        failure = error
    else:
        # Others keep sending the same keys: each round found new ones among them.
        failure = ServerError(ProblemCode.CONFLICT, "others are sending the same idempotency keys", retry_after_ms=100)
    for run in runs:
        run.fail(failure, result)


def without_known(known: list[KeyedResult], partition: int, sent: list[Run], result: SendResult) -> list[Run]:
    """Note in `result` what the window knows; returns the runs that it does not know."""
    by_position = {each.index: each for each in known}
    left = []
    refused: set[str] = set()
    position = 0
    for run in sent:
        found = by_position.get(position)
        position += len(run.records)
        if found is None:
            left.append(run)
        elif not found.conflict:
            if found.log == MESSAGES_LOG:
                run.place(Placed(partition, found.leader_epoch, found.offset), result)
            else:
                run.schedule(ScheduledPlace(partition, found.leader_epoch, found.offset), result)
        else:
            run.fail(key_reused(), result)
            refused.add(run.origin())
    # Another request has the key. It may have made fewer runs than this one, whose others would then be new.
    for run in left:
        if run.origin() in refused:
            run.fail(key_reused(), result)
    return [run for run in left if run.origin() not in refused]


def place_later(answer: ProduceResponse, partition: int, sent: list[Run], result: SendResult) -> None:
    """In the schedule log."""
    offset = answer.base_offset
    for run in sent:
        run.schedule(ScheduledPlace(partition, answer.leader_epoch, offset, answer.append_time_ms), result)
        if offset >= 0:
            offset += len(run.records)


def place_now(answer: ProduceResponse, partition: int, sent: list[Run], result: SendResult) -> None:
    """In the log of messages."""
    offset = answer.base_offset
    for run in sent:
        run.place(Placed(partition, answer.leader_epoch, offset), result)
        if offset >= 0:  # `acks` 0 asked for no offsets
            offset += len(run.records)
