import asyncio

import pytest

from acklog.wire.problems import ProblemCode
from app.calls.send_result import Placed, SendResult
from app.services.parts_under_way import PartsUnderWay
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.rpc.messages import ACKS_ALL, ProduceResponse


def result_of(count: int) -> SendResult:
    return SendResult(Topic("0123456789abc", "orders", 2, 1, 0), count, True, ACKS_ALL, deadline_ms=1000)


async def test_it_is_done_when_each_part_has_its_outcome() -> None:
    result = result_of(3)
    parts = PartsUnderWay(result)
    first, second = parts.add(0, [0, 2]), parts.add(1, [1])
    first.stored(ProduceResponse(10, 4, 1_000))
    assert not parts.all_done.done()
    fault = ServerError(ProblemCode.OVERLOADED, "full")
    second.failed(fault)
    await parts.all_done
    assert result.runs == [([0, 2], Placed(0, 4, 10))]
    assert result.faults == {1: fault}


async def test_what_nobody_foresaw_fails_the_request_and_the_others_do_not_mind() -> None:
    parts = PartsUnderWay(result_of(2))
    first, second = parts.add(0, [0]), parts.add(1, [1])
    first.failed(ZeroDivisionError())
    second.stored(ProduceResponse(0, 1, 1))
    with pytest.raises(ZeroDivisionError):
        await parts.all_done


async def test_a_client_that_went_away_does_not_disturb_what_is_under_way() -> None:
    parts = PartsUnderWay(result_of(2))
    first, second = parts.add(0, [0]), parts.add(1, [1])
    parts.all_done.cancel()
    first.stored(ProduceResponse(0, 1, 1))
    second.failed(ZeroDivisionError())
    with pytest.raises(asyncio.CancelledError):
        await parts.all_done
