"""Deleting, and hiding for another time, in every state that a message may be in."""

from collections.abc import Awaitable, Callable

import pytest

from acklog.wire.problems import ProblemCode
from app.auth.principal import ANYONE, Principal, PrincipalKind
from app.auth.right import EVERY, Effect, Right
from app.auth.rights import rights_of
from app.sqs.messages.receipt_handle import parse_handle
from app.sqs.queue import Queue
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError
from cluster.model.action import Action
from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.sqs_queues import QueueUser, bodies

FIFO = "orders.fifo"
HOUR_MS = 3_600_000
CONTENT = {"ContentBasedDeduplication": "true"}
INVALID_HANDLE = SqsErrorCode.RECEIPT_HANDLE_IS_INVALID
INVALID_VALUE = SqsErrorCode.INVALID_PARAMETER_VALUE
EXPIRED = "Reason: The receipt handle has expired."
NOT_AVAILABLE = "Reason: Message does not exist or is not available for visibility timeout change."


def with_user(main: Callable[[QueueUser], Awaitable[None]]) -> None:
    async def whole(cluster: Cluster) -> None:
        await main(QueueUser(cluster))

    ClusterBuilder().nodes(1).gateway().run(whole)


async def leased(user: QueueUser, name: str = "orders", *, seconds: int = 5) -> tuple[Queue, str]:
    """A queue with a message, and the handle of its delivery."""
    queue = await user.queue(name, settings={"visibility_ms": seconds * 1000}, **CONTENT)
    await user.send(queue, "1", group_id="g")
    [found] = await user.receive(queue)
    return queue, found.receipt_handle


def check(fault: SqsError | None, code: SqsErrorCode, end: str = "") -> None:
    assert fault is not None
    assert fault.code is code
    assert fault.message.endswith(end)


@pytest.mark.parametrize("handle", ["", "x", "r-1-2", "m-0000000000000-0-1-2"])
def test_what_is_no_handle(handle: str) -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue()
        [fault] = await user.delete(queue, handle)
        check(fault, INVALID_HANDLE, "is not a valid receipt handle.")
        check(await user.hide(queue, handle, 5), INVALID_HANDLE, "is not a valid receipt handle.")

    with_user(main)


@pytest.mark.parametrize("name", ["orders", FIFO])
def test_an_invention_is_no_handle(name: str) -> None:
    async def main(user: QueueUser) -> None:
        queue, handle = await leased(user, name)
        receipt, _, tail = handle.partition(".")
        invented = f"{receipt.rpartition('-')[0]}-99.{tail}"
        [fault] = await user.delete(queue, invented)
        check(fault, INVALID_HANDLE)
        check(await user.hide(queue, invented, 5), INVALID_HANDLE)

    with_user(main)


def test_a_handle_of_another_queue() -> None:
    async def main(user: QueueUser) -> None:
        _, handle = await leased(user)
        other = await user.queue("refunds")
        [fault] = await user.delete(other, handle)
        check(fault, INVALID_HANDLE, "is not valid for this queue.")
        check(await user.hide(other, handle, 5), INVALID_HANDLE, "is not valid for this queue.")

    with_user(main)


@pytest.mark.parametrize("name", ["orders", FIFO])
def test_what_is_deleted_stays_so(name: str) -> None:
    async def main(user: QueueUser) -> None:
        queue, handle = await leased(user, name)
        assert await user.delete(queue, handle, handle) == [None, None]
        assert await user.delete(queue, handle) == [None]
        check(await user.hide(queue, handle, 5), INVALID_VALUE, NOT_AVAILABLE)
        await user.cluster.clock.sleep(6_000)
        assert await user.receive(queue) == []
        assert await user.delete(queue, handle) == [None]
        check(await user.hide(queue, handle, 5), INVALID_VALUE, NOT_AVAILABLE)

    with_user(main)


def test_an_older_handle_of_a_standard_queue_deletes_nothing_and_is_no_error() -> None:
    async def main(user: QueueUser) -> None:
        queue, older = await leased(user)
        await user.cluster.clock.sleep(6_000)
        [again] = await user.receive(queue)
        assert await user.delete(queue, older) == [None]
        check(await user.hide(queue, older, 5), INVALID_VALUE, NOT_AVAILABLE)
        await user.cluster.clock.sleep(6_000)
        [third] = await user.receive(queue)
        assert third.message_id == again.message_id

    with_user(main)


def test_what_is_back_in_a_standard_queue_can_be_deleted_and_not_be_hidden() -> None:
    async def main(user: QueueUser) -> None:
        queue, handle = await leased(user)
        await user.cluster.clock.sleep(6_000)
        check(await user.hide(queue, handle, 5), SqsErrorCode.MESSAGE_NOT_IN_FLIGHT)
        assert await user.delete(queue, handle) == [None]
        assert await user.receive(queue) == []

    with_user(main)


def test_a_handle_of_a_fifo_queue_is_good_until_its_time_is_over() -> None:
    async def main(user: QueueUser) -> None:
        queue, handle = await leased(user, FIFO)
        await user.cluster.clock.sleep(6_000)
        [fault] = await user.delete(queue, handle)
        check(fault, INVALID_VALUE, EXPIRED)
        [again] = await user.receive(queue)
        [fault] = await user.delete(queue, handle)
        check(fault, INVALID_VALUE, EXPIRED)
        assert await user.delete(queue, again.receipt_handle) == [None]

    with_user(main)


def test_what_was_hidden_for_longer_is_not_over() -> None:
    async def main(user: QueueUser) -> None:
        for name in ("orders", FIFO):
            queue, handle = await leased(user, name)
            assert await user.hide(queue, handle, 60) is None
            await user.cluster.clock.sleep(6_000)
            assert await user.receive(queue) == []
            assert await user.hide(queue, handle, 60) is None
            assert await user.delete(queue, handle) == [None]

    with_user(main)


@pytest.mark.parametrize("name", ["orders", FIFO])
def test_hidden_for_no_time_it_is_back_at_once(name: str) -> None:
    async def main(user: QueueUser) -> None:
        queue, handle = await leased(user, name)
        assert await user.hide(queue, handle, 0) is None
        assert bodies(await user.receive(queue)) == ["1"]

    with_user(main)


def test_how_long_it_may_be_hidden() -> None:
    async def main(user: QueueUser) -> None:
        queue, handle = await leased(user)
        for seconds in (-1, 43_201):
            check(await user.hide(queue, handle, seconds), INVALID_VALUE, "must be an integer between 0 and 43200.")
        at_ms = user.cluster.clock.now_ms()
        known = parse_handle(handle)
        assert known is not None
        passed_s = (at_ms - known.received_at_ms + 999) // 1000
        assert await user.hide(queue, handle, 43_200 - passed_s - 1) is None
        await user.cluster.clock.sleep(HOUR_MS)
        told = "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"
        check(await user.hide(queue, handle, 11 * 3600 + 1), INVALID_VALUE, told)
        assert await user.hide(queue, handle, 11 * 3600 - 10) is None
        check(await user.hide(queue, str(known.receipt), 43_201), INVALID_VALUE)
        assert await user.hide(queue, str(known.receipt), 43_200) is None, "a receipt does not say since when"

    with_user(main)


def test_each_of_a_batch_has_an_end_of_its_own() -> None:
    async def main(user: QueueUser) -> None:
        queue, handle = await leased(user)
        await user.send(queue, "2")
        [other] = await user.receive(queue)
        faults = await user.messages.change_visibility(
            queue, [("x", 5), (handle, 0), (other.receipt_handle, 60), (handle, -1)], user.principal
        )
        assert [None if fault is None else fault.code for fault in faults] == [
            INVALID_HANDLE,
            None,
            None,
            INVALID_VALUE,
        ]
        assert bodies(await user.receive(queue)) == ["1"]
        deleted = await user.delete(queue, "x", other.receipt_handle)
        assert [None if fault is None else fault.code for fault in deleted] == [INVALID_HANDLE, None]

    with_user(main)


def test_a_receipt_of_the_other_api_is_a_handle() -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue()
        await user.send(queue, "1")
        async with client_of(user.gateway) as client:
            answer = await client.get("/messages", params={"queue": "orders", "group": "sqs.orders"})
            [message] = answer.json()["messages"]
        assert await user.hide(queue, message["receipt"], 5) is None
        assert await user.delete(queue, message["receipt"]) == [None]

    with_user(main)


def test_who_may_only_settle_does_not_need_to_look() -> None:
    async def main(user: QueueUser) -> None:
        queue, handle = await leased(user, FIFO)
        await user.cluster.clock.sleep(6_000)
        settle = Right(effect=Effect.ALLOW, actions=(Action.SETTLE,), topics=EVERY, groups=EVERY, source="test")
        ada = Principal("ada", rights_of([settle]), kind=PrincipalKind.STORED)
        [fault] = await user.messages.delete(queue, [handle], ada)
        assert fault is None
        with pytest.raises(ServerError) as caught:
            await user.messages.delete(queue, [handle], Principal("eve", rights_of([])))
        assert caught.value.code is ProblemCode.FORBIDDEN
        assert await user.messages.delete(queue, [handle], ANYONE) == [None]

    with_user(main)
