"""Whether a namespace has room for more, and how that is kept exact where several make something at once.

The entry of a namespace is written with whatever comes or goes in it (`cluster.model.namespace`). Who decides has read
it, and the view shows all that was there then: the counts of the view are exact, or the transaction does nothing."""

from collections.abc import Sequence

from acklog.wire.names import namespace_of
from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import Write
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.codec import decode
from cluster.model.namespace import Namespace, NamespaceSettings, NamespaceUse, use_of
from cluster.ports.coordination import Compare, KeyValue, Operation, Put, unchanged


class NamespaceRoom:
    """`entry` is that of the namespace, as the store has it; None where there is none."""

    def __init__(self, full_name: str, entry: KeyValue | None, metadata: MetadataView) -> None:
        self._namespace = namespace_of(full_name)
        self._entry = entry
        self._metadata = metadata

    def require_topics(self, *, topics: int, partitions: int) -> None:
        """For so many more. Raises ServerError NAMESPACE_NOT_FOUND, NAMESPACE_FULL."""
        if self._namespace and (topics or partitions > 0):
            settings, use = self._settings(), self._use()
            self._check("topicsMax", settings.topics_max, use.topics, topics, field="topic")
            self._check("partitionsMax", settings.partitions_max, use.partitions, partitions, field="partitions")

    def require_group(self) -> None:
        """For one more. Raises ServerError NAMESPACE_NOT_FOUND, NAMESPACE_FULL."""
        if self._namespace:
            self._check("groupsMax", self._settings().groups_max, self._use().groups, 1, field="group")

    def require_schedule(self) -> None:
        """For one more. Where the namespace's entry is lost, its topics go on. Raises ServerError NAMESPACE_FULL."""
        if self._entry is not None:
            self._check("schedulesMax", self._settings().schedules_max, self._use().schedules, 1, field="schedule")

    def require_producer(self) -> None:
        """As `require_schedule`."""
        if self._entry is not None:
            self._check("producersMax", self._settings().producers_max, self._use().producers, 1, field="producer")

    def require_empty(self) -> None:
        """Raises ServerError NAMESPACE_NOT_EMPTY."""
        use = self._use()
        if not use.is_empty:
            detail = f"the namespace {self._namespace!r} has {use.topics} topic(s) and {use.groups} group(s)"
            raise ServerError(ProblemCode.NAMESPACE_NOT_EMPTY, detail, field="namespace")

    def counted(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> Write:
        """The write of something that comes or goes in the namespace."""
        if self._entry is None:
            return Write(compares, operations)
        entry = self._entry
        return Write([*compares, unchanged(entry)], [*operations, Put(entry.key, entry.value)])

    def _settings(self) -> NamespaceSettings:
        if self._entry is None:
            raise no_namespace(self._namespace)
        return decode(Namespace, self._entry.value).settings

    def _use(self) -> NamespaceUse:
        return use_in(self._namespace, self._metadata)

    def _check(self, limit: str, most: int | None, present: int, more: int, *, field: str) -> None:
        if most is not None and more > 0 and present + more > most:
            detail = f"{limit} of the namespace {self._namespace!r} is {most}: there are {present}, and {more} more"
            extra: dict[str, object] = {"limit": limit, "max": most}
            raise ServerError(ProblemCode.NAMESPACE_FULL, f"{detail} would be too many", field=field, extra=extra)


def use_in(namespace: str, metadata: MetadataView) -> NamespaceUse:
    """As far as this process has heard."""
    return use_of(
        namespace,
        metadata.topics(),
        metadata.groups(),
        schedules_of=metadata.recurring.count_of_topic,
        producers_of=metadata.producers.count_of_topic,
    )


def no_namespace(name: str) -> ServerError:
    return ServerError(ProblemCode.NAMESPACE_NOT_FOUND, f"there is no namespace {name!r}", field="namespace")
