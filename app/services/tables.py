"""The latest values of keys, in topics that keep the last message of each.

A key belongs to one partition for as long as the topic's partitions stay. When they are changed, what it had before
stays where it was: so until the key's own partition has something by the new mapping, a value or that there is none,
those where it was before are asked, too. What the latest mapping put anywhere counts, and of one mapping what was
appended last. What was removed counts as well: with the oldest messages of a partition goes what their keys had before
elsewhere, as that is older still.
"""

from collections.abc import Mapping, Sequence

from acklog.wire.identifiers import MessageId
from acklog.wire.limits import KEY_BYTES_MAX
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.message_view import MessageView, view_of
from app.gateway.dependencies import Gateway
from app.gateway.partition_choice import partition_of_key
from app.gateway.routing import PartitionLeaders
from app.services.catalog import Catalog
from app.services.fan_out import ask_each
from app.services.later_mapping import topic_after
from app.services.quotas import QuotaService
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.mapping_starts import ABOVE_ALL, keeps_order, mapping_at, mappings_below
from cluster.model.topic_mapping import topic_at
from cluster.model.values import Topic
from storage.rpc.table_messages import UNKNOWN_MAPPING, LatestRequest, LatestResponse

REMAPPED_MAX = 3
"""So often in one call the topic's partitions may have been changed."""


class TableService:
    def __init__(self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders, quotas: QuotaService) -> None:
        self._metadata = gateway.metadata
        self._timeout_ms = gateway.settings.request_timeout_ms
        self._catalog = catalog
        self._leaders = leaders
        self._quotas = quotas

    async def latest(self, name: str, key: str, principal: Principal) -> MessageView:
        """Raises ServerError TOPIC_NOT_FOUND, TOPIC_NOT_COMPACTED, INVALID_FIELD, KEY_NOT_FOUND, RECORDS_CORRUPT,
        UNAVAILABLE, UNSUPPORTED (a node of an earlier version)."""
        principal.require_on_topic(Action.RECEIVE, name)
        if len(key.encode()) > KEY_BYTES_MAX:
            raise ServerError(ProblemCode.INVALID_FIELD, f"has more than {KEY_BYTES_MAX} bytes", field="key")
        topic = await self._catalog.compacted_topic(name, principal, Action.RECEIVE)
        await self._quotas.admit_read(topic, principal)
        deadline_ms = self._leaders.deadline_in(self._timeout_ms)
        for rest in reversed(range(REMAPPED_MAX)):
            try:
                partition, found = await self._find(topic, key, deadline_ms)
                break
            except ServerError as error:
                if error.code is not ProblemCode.CONFLICT or not rest:
                    raise
                topic = await topic_after(topic.mapping, topic.id, self._catalog)
        if found.record is None:
            raise ServerError(ProblemCode.KEY_NOT_FOUND, f"the key has no value in {name!r}", field="key")
        self._quotas.charge_messages(1, len(found.record.body), topic, principal)
        return view_of(
            found.record,
            message_id=str(MessageId(topic.id, partition, found.leader_epoch, found.offset)),
            queue=topic.name,
            partition=partition,
            offset=found.offset,
            append_time_ms=found.append_time_ms,
            topic_ttl_ms=topic.config.ttl_ms,
        )

    async def _find(self, topic: Topic, key: str, deadline_ms: int) -> tuple[int, LatestResponse]:
        """With the partition that it is in."""

        async def ask(partition: int) -> LatestResponse:
            request = LatestRequest(topic.id, partition, key, topic.mapping)
            return await self._leaders.call(
                topic.id, partition, lambda node, _remaining_ms: node.latest(request), deadline_ms=deadline_ms
            )

        home = partition_of_key(key, topic)
        found = await ask(home)
        if topic.mapping == 0 or self._age(topic, home, found)[0] == topic.mapping:
            return home, found
        others = [
            number
            for number in self._earlier_places(topic, key)
            if number != home and not self._leaders.is_gone(topic.id, number)
        ]
        places = {home: found}
        for number, answer in zip(others, await ask_each(others, ask), strict=True):
            if isinstance(answer, ServerError):
                raise answer  # it may have the latest
            places[number] = answer
        partition, latest = max(places.items(), key=lambda place: self._age(topic, *place))
        if self._may_have_been_removed_since(self._age(topic, partition, latest)[0], topic, key, places):
            return home, LatestResponse(-1)
        return partition, latest

    def _earlier_places(self, topic: Topic, key: str) -> list[int]:
        """Where the key may have been before. Where an earlier mapping is forgotten, that is anywhere."""
        mapped = [topic_at(topic, mapping) for mapping in range(topic.mapping)]
        if None in mapped:
            return list(range(topic.partitions))
        return sorted({partition_of_key(key, each) for each in mapped if each is not None})

    def _age(self, topic: Topic, partition: int, found: LatestResponse) -> tuple[int, int]:
        """Greater for what was put there later; least for nothing. Where not all mappings have starts, what is between
        known ones is not told from what came later: then the time counts alone."""
        state = self._metadata.partition(topic.id, partition)
        if found.offset < 0 or state is None:
            return -1, found.append_time_ms
        if not keeps_order(topic):
            return 0, found.append_time_ms
        mapping = mapping_at(state, found.offset) if found.mapping == UNKNOWN_MAPPING else found.mapping
        return mapping, found.append_time_ms

    def _may_have_been_removed_since(
        self, mapping: int, topic: Topic, key: str, places: Mapping[int, LatestResponse]
    ) -> bool:
        """Whether the key's last message that is left, by `mapping`, may have had a later one. What is removed of a
        partition is always the oldest of it: where that reaches messages of a later mapping, by which the key belonged
        there, what it had before was older than what was removed, wherever it is."""
        if not keeps_order(topic):
            return False
        for later in range(mapping + 1, topic.mapping + 1):
            mapped = topic_at(topic, later)
            homes = range(topic.partitions) if mapped is None else (partition_of_key(key, mapped),)
            if any(later in self._removed_of(topic, home, places.get(home)) for home in homes):
                return True
        return False

    def _removed_of(self, topic: Topic, partition: int, answer: LatestResponse | None) -> Sequence[int]:
        """The mappings of whose messages in the partition some are gone. With the partition itself all are."""
        if answer is not None:
            return answer.removed_of
        state = self._metadata.partition(topic.id, partition)
        return () if state is None else mappings_below(state, ABOVE_ALL)
