"""Topics and groups by the names that clients give them, created on first use where that is on."""

from collections.abc import Callable, Mapping, Sequence

from acklog.wire.names import namespace_of
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.names import check_name
from app.gateway.dependencies import Gateway
from app.services.auto_creations import AutoCreationLimits, AutoCreations
from app.services.confirmations import Confirmations
from app.services.fan_out import ask_each
from cluster.catalog.topic_defaults import counted_nodes, default_min_insync_replicas, default_replication_factor
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.action import Action
from cluster.model.internal_topics import AUDIT_TOPIC, INTERNAL_TOPICS, is_internal
from cluster.model.near_names import near_names
from cluster.model.restored_topic import being_restored
from cluster.model.sqs_queue import queue_of_group
from cluster.model.values import Encryption, Group, GroupMode, GroupSettings, Topic, TopicConfig

NO_EPOCH = -1
WHILE_RESTORING = (Action.LOOK, Action.MANAGE)
"""What may be done with a topic that is being restored: see how it is, and end the restore one way or the other."""

PartitionPlace = tuple[str, int]
"""The id of a topic, and the number of a partition."""


class Catalog:
    """Lookups go to the metadata view, in memory. What it does not show is asked for once at the coordination store:
    another gateway may have made it a moment ago. Calls with a principal check that it may do that to the topic.

    What has to ask raises ServerError UNAVAILABLE while it cannot.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._metadata = gateway.metadata
        self._settings = gateway.settings
        self._confirmations = Confirmations(gateway)
        settings, metadata = gateway.settings, gateway.metadata
        self._auto_topics = AutoCreations(
            AutoCreationLimits(settings.auto_topics_max, settings.auto_topics_per_token_max),
            ProblemCode.TOO_MANY_TOPICS,
            count=lambda: len(metadata.topics()),
            exists=lambda name: metadata.topic(name) is not None,
        )
        self._auto_groups = AutoCreations(
            AutoCreationLimits(settings.auto_groups_max, settings.auto_groups_per_token_max),
            ProblemCode.TOO_MANY_GROUPS,
            count=lambda: len(metadata.groups()),
            exists=lambda name: metadata.group(name) is not None,
        )

    # --- topics ------------------------------------------------------------------------------------------------------

    async def topic(self, name: str, principal: Principal, action: Action, *, field: str = "queue") -> Topic:
        """Raises ServerError FORBIDDEN, INVALID_NAME, TOPIC_NOT_FOUND (with near names)."""
        topic = self.existing(name, principal, action)
        if topic is None:
            check_name(name, field=field)
            topic = await self.latest_topic(name)
        if topic is None:
            raise self._no_topic(name, principal, field)
        return topic

    def existing(self, name: str, principal: Principal, action: Action) -> Topic | None:
        """The topic, None where the view shows none of that name: Acklog's own are not there for sends and receives.
        Raises ServerError FORBIDDEN, TOPIC_RESTORING."""
        principal.require_on_topic(action, name)
        topic = self._metadata.topic(name)
        if topic is None or is_internal(name):
            return None
        if topic.is_restoring and action not in WHILE_RESTORING:
            raise being_restored(topic)
        return topic

    async def restored_topic(self, name: str, principal: Principal, action: Action) -> Topic:
        """The topic whether it is whole or not: for the restore. Raises ServerError as `topic` does."""
        principal.require_on_topic(action, name)
        check_name(name, field="topic")
        topic = self._metadata.topic(name) or await self.latest_topic(name)
        if topic is None:
            raise self._no_topic(name, principal, "topic")
        return topic

    async def compacted_topic(self, name: str, principal: Principal, action: Action) -> Topic:
        """Raises ServerError as `topic` does, and TOPIC_NOT_COMPACTED."""
        topic = await self.topic(name, principal, action, field="topic")
        if not topic.config.is_compacted:
            topic = await self.latest_topic(name) or topic  # another gateway may have changed it just now
        if not topic.config.is_compacted:
            detail = f"{name!r} keeps all messages of a key: its cleanupPolicy is delete"
            raise ServerError(ProblemCode.TOPIC_NOT_COMPACTED, detail, field="topic")
        return topic

    async def operated_topic(self, name: str, principal: Principal, action: Action, *, field: str = "topic") -> Topic:
        """As `topic`, and one of Acklog's own as well: for operators, who see to its replicas."""
        if name not in INTERNAL_TOPICS:
            return await self.topic(name, principal, action, field=field)
        if name == AUDIT_TOPIC and action is Action.LOOK:
            principal.require_on_cluster(Action.AUDIT)
        else:
            principal.require_everything(action)
        topic = await self.latest_topic(name)
        if topic is None:
            raise self._no_topic(name, principal, field)
        return topic

    async def read_partition(self, name: str, partition: int, principal: Principal) -> Topic:
        """For who reads the log as it is: messages, or with a right of its own the audit log. Raises ServerError as
        `operated_partition` does."""
        if name != AUDIT_TOPIC:
            return await self.topic_with_partition(name, partition, principal, Action.RECEIVE)
        return await self.operated_partition(name, partition, principal, Action.LOOK)

    async def operated_partition(self, name: str, partition: int, principal: Principal, action: Action) -> Topic:
        """Raises ServerError as `operated_topic` does, and PARTITION_NOT_FOUND."""
        topic = await self.grown(await self.operated_topic(name, principal, action), partition)
        self.check_partition(topic, partition)
        return topic

    async def latest_topic(self, name: str) -> Topic | None:
        """As the coordination store has it, whatever the view shows: for who decides by it what is to be changed."""
        await self._confirmations.confirm(keys.topic(name), f"what there is of the topic {name!r}")
        return self._metadata.topic(name)

    async def topic_with_partition(
        self, name: str, partition: int, principal: Principal, action: Action, *, field: str = "topic"
    ) -> Topic:
        """Raises ServerError as `topic` does, and PARTITION_NOT_FOUND."""
        topic = await self.grown(await self.topic(name, principal, action, field=field), partition)
        self.check_partition(topic, partition)
        return topic

    async def grown(self, topic: Topic, partition: int) -> Topic:
        """The topic with the partition, if another gateway has just added it; else as it is."""
        return topic if partition < topic.partitions else await self.latest_topic(topic.name) or topic

    async def with_replicas(self, topic: Topic, replicas: int) -> Topic:
        """The topic with so many replicas, if another gateway has just changed it; else as it is."""
        return topic if replicas <= topic.replication_factor else await self.latest_topic(topic.name) or topic

    async def topic_for_send(
        self, name: str, principal: Principal, *, is_wanted: Callable[[Topic], bool], field: str = "queue"
    ) -> tuple[Topic, bool]:
        """The topic, and whether it was created just now. One that would have to be, and is not wanted as it would be,
        is not: it comes without an id then. Raises ServerError as `topic` does."""
        topic = self.existing(name, principal, Action.SEND)
        if topic is not None:
            return topic, False
        check_name(name, field=field)
        topic = await self.latest_topic(name)
        if topic is not None:
            return topic, False
        if not self._settings.auto_create_topics:
            raise self._no_topic(name, principal, field)
        with self._auto_topics.one_more(name, principal):
            factor = default_replication_factor(await self.nodes())
            config = self.default_config(factor)
            planned = Topic("", name, self._settings.partitions_default, factor, 0, config)
            if not is_wanted(planned):
                return planned, False
            topic = await self._gateway.topics.get_or_create(
                name, partitions=planned.partitions, config=config, replication_factor=factor
            )
        return topic, True

    def default_config(self, replication_factor: int) -> TopicConfig:
        """Of a topic that says nothing."""
        encryption = self.default_encryption()
        min_insync_replicas = default_min_insync_replicas(replication_factor)
        return TopicConfig(min_insync_replicas=min_insync_replicas, encryption=encryption)

    def default_encryption(self) -> Encryption:
        """Of a topic that does not say whether."""
        return Encryption.ON if self._settings.encrypt_topics else Encryption.OFF

    def topics(self) -> list[Topic]:
        """All but Acklog's own, by name."""
        return [topic for topic in self._metadata.topics() if not is_internal(topic.name)]

    def topics_beside(self, group: Group, principal: Principal, action: Action) -> list[Topic]:
        """Those of the group's namespace that the principal may do this with, by name."""
        namespace = namespace_of(group.name)
        return [
            topic
            for topic in self.topics()
            if namespace_of(topic.name) == namespace and principal.may_on_topic(action, topic.name)
        ]

    def operated_topics(self, principal: Principal) -> list[Topic]:
        """All, by name: for operators. The audit log is there for who may look at it. Raises ServerError FORBIDDEN."""
        principal.require_everything(Action.LOOK)
        topics = self._metadata.topics()
        if principal.may_on_cluster(Action.AUDIT):
            return list(topics)
        return [topic for topic in topics if topic.name != AUDIT_TOPIC]

    # --- nodes -------------------------------------------------------------------------------------------------------

    async def confirm_nodes(self) -> None:
        """Have the view show every node that is registered now."""
        await self._confirmations.confirm_all(keys.NODES, "which nodes there are")

    async def confirm_partition(self, topic: Topic, partition: int) -> None:
        """Have the view show the partition as it is now."""
        await self._confirmations.confirm(keys.partition(topic.id, partition), "who holds the partition")

    async def nodes(self) -> int:
        """How many nodes a new topic may count on."""
        await self.confirm_nodes()
        holders = (
            node
            for topic in self._metadata.topics()
            for state in self._metadata.partitions(topic.id)
            for node in state.replicas
        )
        return counted_nodes(self._metadata.steering.membership, holders)

    # --- what message ids and receipts name --------------------------------------------------------------------------

    async def look_for(self, places: Sequence[PartitionPlace]) -> dict[PartitionPlace, ServerError]:
        """Have the view show these partitions, as far as there are such. Why that is not known, for each of which it is
        not; all of them share the time of one."""
        unknown = [place for place in places if not self._shows(place)]
        if not unknown:
            return {}
        deadline = self._confirmations.deadline()

        async def look_for_one(place: PartitionPlace) -> None:
            if not self._shows(place):  # what was confirmed for another one may have brought this one, too
                key = keys.partition(*place)
                await self._confirmations.confirm(key, "whether there is such a partition", deadline=deadline)

        answers = await ask_each(unknown, look_for_one)
        return {place: fault for place, fault in zip(unknown, answers, strict=True) if fault is not None}

    async def later_epochs(self, newest: Mapping[PartitionPlace, int]) -> dict[PartitionPlace, ServerError | int]:
        """Partitions whose leader epoch is below what somebody says it has been: the coordination store's, or why it is
        not known. Each leader's epoch is there before it gives out anything."""
        suspects = [place for place, epoch in newest.items() if epoch > self._leader_epoch(place)]
        if not suspects:
            return {}
        deadline = self._confirmations.deadline()

        async def look(place: PartitionPlace) -> None:
            await self._confirmations.confirm(keys.partition(*place), "which leader epoch it has", deadline=deadline)

        answers = await ask_each(suspects, look)
        found = {
            place: self._confirmed_epoch(place) if fault is None else fault
            for place, fault in zip(suspects, answers, strict=True)
        }
        return {place: each for place, each in found.items() if not isinstance(each, int) or each < newest[place]}

    def _confirmed_epoch(self, place: PartitionPlace) -> int | ServerError:
        """TOPIC_NOT_FOUND for what is not there any more: its topic was deleted while this was asked."""
        if self._metadata.partition(*place) is None:
            return ServerError(ProblemCode.TOPIC_NOT_FOUND, "the topic was deleted")
        return self._leader_epoch(place)

    def _leader_epoch(self, place: PartitionPlace) -> int:
        state = self._metadata.partition(*place)
        return NO_EPOCH if state is None else state.leader_epoch

    def _shows(self, place: PartitionPlace) -> bool:
        topic_id, partition = place
        topic = self._metadata.topic_by_id(topic_id)
        return topic is not None and partition < topic.partitions

    def by_id(self, topic_id: str) -> Topic:
        """By what the view shows. Raises ServerError TOPIC_NOT_FOUND."""
        topic = self._metadata.topic_by_id(topic_id)
        if topic is None:
            raise ServerError(ProblemCode.TOPIC_NOT_FOUND, "the topic was deleted")
        return topic

    def topic_at(
        self, place: PartitionPlace, principal: Principal, action: Action, *, field: str | None = None
    ) -> Topic:
        """By what the view shows. Raises ServerError FORBIDDEN, TOPIC_NOT_FOUND, PARTITION_NOT_FOUND."""
        found = self.topic_or_fault_at(place, principal, action, field=field)
        if isinstance(found, ServerError):
            raise found
        return found

    def topic_or_fault_at(
        self, place: PartitionPlace, principal: Principal, action: Action, *, field: str | None = None
    ) -> Topic | ServerError:
        """As `topic_at`, for who asks for thousands and keeps the faults: what is raised keeps its frames, and with
        them itself, until the garbage collector comes for all of them at once."""
        topic_id, partition = place
        topic = self._metadata.topic_by_id(topic_id)
        if topic is None or is_internal(topic.name):
            return ServerError(ProblemCode.TOPIC_NOT_FOUND, "the topic was deleted, or never existed", field=field)
        if principal.refuses_topic(action, topic.name):  # an id says nothing of the name, and the answer must not
            return ServerError(ProblemCode.FORBIDDEN, "the token is not for the topic that this is of", field=field)
        if topic.is_restoring:
            return being_restored(topic, field=field)
        if partition >= topic.partitions:
            detail = f"{topic.name!r} has no partition {partition}"
            return ServerError(ProblemCode.PARTITION_NOT_FOUND, detail, field=field)
        return topic

    # --- groups ------------------------------------------------------------------------------------------------------

    async def group(self, name: str, *, field: str = "group") -> Group:
        """Raises ServerError INVALID_NAME, GROUP_NOT_FOUND."""
        group = await self._group(name, field)
        if group is None:
            raise _no_group(name, field)
        return group

    async def group_for_receive(self, name: str, principal: Principal, mode: GroupMode | None) -> tuple[Group, bool]:
        """The group, and whether it was created just now. Raises ServerError as `group` does."""
        group = await self._group(name, "group")
        if group is not None:
            return group, False
        if not self._settings.auto_create_groups or queue_of_group(name) is not None:  # a queue of SQS makes its own
            raise _no_group(name, "group")
        with self._auto_groups.one_more(name, principal):
            chosen = mode or GroupMode.SHARED
            group = await self._gateway.groups.get_or_create(name, mode=chosen, settings=GroupSettings())
        return group, True

    async def _group(self, name: str, field: str) -> Group | None:
        group = self._metadata.group(name)
        if group is None:
            check_name(name, field=field)
            group = await self.latest_group(name)
        return group

    async def latest_group(self, name: str) -> Group | None:
        """As the coordination store has it, whatever the view shows: for who decides by it what is to be changed."""
        await self._confirmations.confirm(keys.group(name), f"what there is of the group {name!r}")
        return self._metadata.group(name)

    async def confirm_redrives(self, group: Group) -> None:
        """Have the view show every redrive job that the group has now."""
        await self._confirmations.confirm_all(keys.redrives_of(group.id), "whether there is such a job")

    async def confirm_groups(self) -> None:
        """Have the view show every group that there is now."""
        await self._confirmations.confirm_groups()

    def topic_name(self, topic_id: str) -> str | None:
        topic = self._metadata.topic_by_id(topic_id)
        return None if topic is None else topic.name

    def group_name(self, group_id: str) -> str | None:
        group = self._metadata.group_by_id(group_id)
        return None if group is None else group.name

    # --- partitions of a topic ---------------------------------------------------------------------------------------

    def check_partition(self, topic: Topic, partition: int, *, field: str = "partition") -> None:
        """Raises ServerError PARTITION_NOT_FOUND."""
        if not 0 <= partition < topic.partitions:
            detail = f"{topic.name!r} has partitions 0 to {topic.partitions - 1}"
            raise ServerError(ProblemCode.PARTITION_NOT_FOUND, detail, field=field)

    def check_partition_takes_messages(self, topic: Topic, partition: int, *, field: str = "partition") -> None:
        """Raises ServerError PARTITION_NOT_FOUND, PARTITION_DECOMMISSIONED."""
        self.check_partition(topic, partition, field=field)
        if partition in topic.decommissioned:
            detail = f"partition {partition} of {topic.name!r} takes no new messages; name another one, or none"
            raise ServerError(ProblemCode.PARTITION_DECOMMISSIONED, detail, field=field)

    def _no_topic(self, name: str, principal: Principal, field: str) -> ServerError:
        near = near_names(name, (topic.name for topic in self.topics()), principal.knows_topic)
        hint = f"; similar: {', '.join(near)}" if near else ""
        extra: dict[str, object] = {"near": near}
        return ServerError(ProblemCode.TOPIC_NOT_FOUND, f"there is no topic {name!r}{hint}", field=field, extra=extra)


def _no_group(name: str, field: str) -> ServerError:
    return ServerError(ProblemCode.GROUP_NOT_FOUND, f"there is no group {name!r}", field=field)
