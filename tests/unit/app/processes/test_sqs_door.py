"""What of SQS a gateway has."""

from typing import cast

import pytest

from app.configuration.server_settings import Settings
from app.http.exchange.http_services import HttpServices
from app.processes.sqs_door import sqs_doors
from app.sqs.protocol.front_door import SqsFrontDoor
from app.sqs.protocol.short_queue_calls import ROOT
from tests.support.memory_gateway import MemoryWorld
from tests.support.recorded_spans import RecordedSpans


@pytest.mark.parametrize("is_traced", [False, True])
def test_where_requests_are_traced_none_goes_round_the_door(is_traced: bool) -> None:
    world = MemoryWorld(tracer=RecordedSpans().tracer if is_traced else None)
    [make] = sqs_doors(world.gateway.settings)
    door = cast(SqsFrontDoor, make(HttpServices(world.gateway)))
    assert ((b"POST", ROOT) in door.short_ways) is not is_traced


def test_who_wants_none_has_none() -> None:
    assert sqs_doors(Settings(no_sqs=True)) == ()
