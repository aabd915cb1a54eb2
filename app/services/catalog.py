"""Topics and groups by the names that clients give them, created on first use where that is on."""

from difflib import get_close_matches

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.dependencies import Gateway
from app.parsing.names import check_name
from cluster.errors import AcklogError
from cluster.model import Group, GroupMode, GroupSettings, Topic, TopicConfig
from cluster.topic_defaults import counted_nodes, default_min_insync_replicas, default_replication_factor

NEAR_NAMES_MAX = 3
NEAR_NAMES_COMPARED_MAX = 200


class Catalog:
    """Lookups go to the metadata view, in memory. Every call checks that the token is for the topic."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._metadata = gateway.metadata
        self._settings = gateway.settings

    def topic(self, name: str, principal: Principal, *, field: str = "queue") -> Topic:
        """Raises AcklogError FORBIDDEN, INVALID_NAME, TOPIC_NOT_FOUND (with near names)."""
        principal.require_topic(name)
        topic = self._metadata.topic(name)
        if topic is None:
            check_name(name, field=field)
            raise self._no_topic(name, principal, field)
        return topic

    def existing(self, name: str, principal: Principal) -> Topic | None:
        """The topic, None where there is none of that name. Raises AcklogError FORBIDDEN."""
        principal.require_topic(name)
        return self._metadata.topic(name)

    async def topic_for_send(self, name: str, principal: Principal) -> tuple[Topic, bool]:
        """The topic, and whether it was created just now. Raises AcklogError as `topic` does."""
        topic = self.existing(name, principal)
        if topic is not None:
            return topic, False
        check_name(name, field="queue")
        if not self._settings.auto_create_topics:
            raise self._no_topic(name, principal, "queue")
        factor = default_replication_factor(self.nodes())
        topic = await self._gateway.topics.get_or_create(
            name,
            partitions=self._settings.partitions_default,
            config=TopicConfig(min_insync_replicas=default_min_insync_replicas(factor)),
            replication_factor=factor,
        )
        return topic, True

    def nodes(self) -> int:
        """How many nodes a new topic may count on."""
        holders = (
            node
            for topic in self._metadata.topics()
            for state in self._metadata.partitions(topic.id)
            for node in state.replicas
        )
        return counted_nodes(self._metadata.steering.membership, holders)

    def topic_by_id(self, topic_id: str, principal: Principal) -> Topic | None:
        """The topic that a message id or a receipt names; None for one that is gone. Raises AcklogError FORBIDDEN."""
        topic = self._metadata.topic_by_id(topic_id)
        if topic is not None:
            principal.require_topic(topic.name)
        return topic

    def group(self, name: str, *, field: str = "group") -> Group:
        """Raises AcklogError INVALID_NAME, GROUP_NOT_FOUND."""
        group = self._metadata.group(name)
        if group is None:
            check_name(name, field=field)
            raise AcklogError(ProblemCode.GROUP_NOT_FOUND, f"there is no group {name!r}", field=field)
        return group

    async def group_for_receive(self, name: str) -> tuple[Group, bool]:
        """The group, and whether it was created just now. Raises AcklogError as `group` does."""
        group = self._metadata.group(name)
        if group is not None:
            return group, False
        check_name(name, field="group")
        if not self._settings.auto_create_groups:
            return self.group(name), False
        group = await self._gateway.groups.get_or_create(name, mode=GroupMode.SHARED, settings=GroupSettings())
        return group, True

    def group_name(self, group_id: str) -> str | None:
        group = self._metadata.group_by_id(group_id)
        return None if group is None else group.name

    def check_partition(self, topic: Topic, partition: int, *, field: str = "partition") -> None:
        """Raises AcklogError PARTITION_NOT_FOUND."""
        if not 0 <= partition < topic.partitions:
            detail = f"{topic.name!r} has partitions 0 to {topic.partitions - 1}"
            raise AcklogError(ProblemCode.PARTITION_NOT_FOUND, detail, field=field)

    def check_partition_takes_messages(self, topic: Topic, partition: int, *, field: str = "partition") -> None:
        """Raises AcklogError PARTITION_NOT_FOUND, PARTITION_DECOMMISSIONED."""
        self.check_partition(topic, partition, field=field)
        if partition in topic.decommissioned:
            detail = f"partition {partition} of {topic.name!r} takes no new messages; name another one, or none"
            raise AcklogError(ProblemCode.PARTITION_DECOMMISSIONED, detail, field=field)

    def _no_topic(self, name: str, principal: Principal, field: str) -> AcklogError:
        near = self._near_names(name, principal)
        hint = f"; similar: {', '.join(near)}" if near else ""
        extra: dict[str, object] = {"near": near}
        return AcklogError(ProblemCode.TOPIC_NOT_FOUND, f"there is no topic {name!r}{hint}", field=field, extra=extra)

    def _near_names(self, name: str, principal: Principal) -> list[str]:
        """Names that the client may have meant, and may see. Only some are compared: a client that asks for missing
        topics must not keep the server busy."""
        start = name[:1].lower()
        candidates: list[str] = []
        for topic in self._metadata.topics():
            if topic.name[:1].lower() == start and principal.may_see(topic.name):
                candidates.append(topic.name)
                if len(candidates) >= NEAR_NAMES_COMPARED_MAX:
                    break
        return get_close_matches(name, candidates, n=NEAR_NAMES_MAX, cutoff=0.6)
