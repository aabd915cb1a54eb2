"""Topics that a restore makes: born unfinished, finished once, and not changed before."""

import pytest

from acklog.wire.problems import ProblemCode
from cluster.catalog.topic_admin import TopicAdmin
from cluster.errors import ServerError
from cluster.model.needed_protocol import ANY_PROTOCOL, PROTOCOL_OF_RESTORES, needed_by_catalog
from cluster.model.values import Topic, TopicConfig
from tests.unit.cluster.conftest import Catalogue


async def begin(topics: TopicAdmin) -> Topic:
    return await topics.get_or_create(
        "orders", partitions=3, config=TopicConfig(), replication_factor=1, restore_id="r1"
    )


async def refuse(code: ProblemCode, call: object) -> None:
    with pytest.raises(ServerError) as caught:
        await call  # type: ignore[misc]
    assert caught.value.code is code


async def test_it_is_born_unfinished_and_remembers_who_made_it(catalogue: Catalogue) -> None:
    topics = catalogue.topics()
    begun = await begin(topics)
    assert (begun.restore_id, begun.is_restoring) == ("r1", True)
    assert needed_by_catalog([], [begun]) == PROTOCOL_OF_RESTORES
    finished = await topics.finish_restore("orders", "r1", decommissioned=[2])
    assert (finished.restore_id, finished.is_restoring, finished.decommissioned) == ("r1", False, (2,))
    assert needed_by_catalog([], [finished]) == ANY_PROTOCOL
    assert catalogue.metadata.topic("orders") == finished


async def test_only_its_own_restore_finishes_it_and_only_once(catalogue: Catalogue) -> None:
    topics = catalogue.topics()
    await begin(topics)
    await refuse(ProblemCode.TOPIC_NOT_RESTORING, topics.finish_restore("orders", "r2", decommissioned=[]))
    await refuse(ProblemCode.INVALID_FIELD, topics.finish_restore("orders", "r1", decommissioned=[0, 1, 2]))
    await topics.finish_restore("orders", "r1", decommissioned=[])
    await refuse(ProblemCode.TOPIC_NOT_RESTORING, topics.finish_restore("orders", "r1", decommissioned=[]))
    await refuse(ProblemCode.TOPIC_NOT_FOUND, topics.finish_restore("others", "r1", decommissioned=[]))


async def test_nothing_of_it_is_changed_before_that_but_it_may_be_deleted(catalogue: Catalogue) -> None:
    topics = catalogue.topics()
    begun = await begin(topics)
    await refuse(ProblemCode.TOPIC_RESTORING, topics.update("orders", partitions=4))
    await refuse(ProblemCode.TOPIC_RESTORING, topics.decommission("orders", [0]))
    assert catalogue.metadata.topic("orders") == begun
    await topics.delete("orders")
    assert catalogue.metadata.topic("orders") is None
