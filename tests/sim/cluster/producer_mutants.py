"""Planted bugs of named producers: `tests.sim.cluster.mutants` has them all."""

import itertools
from collections.abc import Callable

import pytest

from app.http.parsing.producers import ProducerSend
from app.services.producers import ProducerService
from cluster.model.values import Topic
from storage.node.partition import partition_host
from storage.rpc.producer_epoch import ProducerEpoch


def fences_are_open(patch: pytest.MonkeyPatch) -> None:
    """R3: who had the name before goes on sending."""

    async def check(self: ProducerService, topic: Topic, claim: ProducerEpoch) -> None:
        return

    patch.setattr(ProducerService, "check", check)
    patch.setattr(partition_host, "check_producer", lambda claim, topic_id, registered: None)


def leaders_know_no_fence(patch: pytest.MonkeyPatch) -> None:
    """R3: whether the name was taken is judged by the gateway alone, which may not have heard."""
    patch.setattr(partition_host, "check_producer", lambda claim, topic_id, registered: None)


def numbers_are_not_remembered(patch: pytest.MonkeyPatch) -> None:
    """R19: a producer's request that is sent again is another one."""
    tries = itertools.count()
    patch.setattr(ProducerSend, "idempotency_key", property(lambda self: f"\r{next(tries)}"))


PRODUCER_MUTANTS: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    fences_are_open,
    leaders_know_no_fence,
    numbers_are_not_remembered,
)
