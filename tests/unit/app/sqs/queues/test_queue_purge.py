"""A purge that fails leaves the queue free for the next try, and one that ended in the middle for a minute later."""

from typing import Any, cast

import pytest

from acklog.wire.problems import ProblemCode
from app.auth.principal import ANYONE
from app.calls.groups import SeekView
from app.calls.scheduled import ScheduledListing
from app.sqs.queues.queue_purge import PURGE_INTERVAL_MS, QueuePurge
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError
from cluster.model.action import Action
from tests.support.queue_gateways import QueueGateway, QueueGateways, with_gateways


class NothingScheduled:
    async def list(self, *_: Any) -> ScheduledListing:
        return ScheduledListing([], 0)


class Seeks:
    def __init__(self, *answers: Exception | int) -> None:
        self.answers = list(answers)

    async def seek(self, *_: Any) -> SeekView:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return SeekView("sqs.orders", "orders", False, [], answer)


def test_what_fails_may_be_tried_again_at_once_and_what_was_done_once_a_minute_by_any_gateway() -> None:
    async def main(world: QueueGateways, gateways: list[QueueGateway]) -> None:
        await gateways[0].queues.create("orders", {}, {}, ANYONE)
        away = ServerError(ProblemCode.UNAVAILABLE, "away")
        first, second = [
            QueuePurge(each.gateway, cast(Any, NothingScheduled()), cast(Any, Seeks(*answers)))
            for each, answers in zip(gateways, ([away, 1, 0], [0]), strict=True)
        ]

        async def purge(purge: QueuePurge, gateway: QueueGateway) -> None:
            await purge.purge(await gateway.queues.find("orders", ANYONE, Action.PURGE))

        for _ in range(2):
            with pytest.raises(ServerError) as caught:
                await purge(first, gateways[0])
            assert caught.value.code is ProblemCode.UNAVAILABLE
        await purge(first, gateways[0])
        await world.clock.advance_ms(PURGE_INTERVAL_MS - 1)
        with pytest.raises(SqsError) as refused:
            await purge(second, gateways[1])
        assert refused.value.code is SqsErrorCode.PURGE_QUEUE_IN_PROGRESS
        await world.clock.advance_ms(1)
        await purge(second, gateways[1])

    with_gateways(2, main)


def test_what_was_made_anew_meanwhile_keeps_its_messages() -> None:
    async def main(one: QueueGateway) -> None:
        await one.queues.create("orders", {}, {}, ANYONE)
        before = await one.queues.find("orders", ANYONE, Action.PURGE)

        class MadeAnew(NothingScheduled):
            async def list(self, *_: Any) -> ScheduledListing:
                await one.queues.delete("orders", ANYONE)
                await one.queues.create("orders", {}, {}, ANYONE)
                return ScheduledListing([], 0)

        seeks = Seeks(0)
        purge = QueuePurge(one.gateway, cast(Any, MadeAnew()), cast(Any, seeks))
        with pytest.raises(SqsError) as caught:
            await purge.purge(before)
        assert caught.value.code is SqsErrorCode.QUEUE_DOES_NOT_EXIST
        assert seeks.answers == [0]  # nobody went anywhere

    with_gateways(1, lambda _world, gateways: main(gateways[0]))
