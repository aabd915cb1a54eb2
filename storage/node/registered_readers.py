"""Which groups read a topic, wherever its partitions are led: whom a topic waits for that keeps messages until they are
done."""

from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.values import Group
from cluster.ports.coordination import CoordinationStore
from storage.node.replicas.led_partition import Partition


class RegisteredReaders:
    """Of one node. It goes by the projected progress, and remembers what that says until it is told to look anew."""

    def __init__(self, store: CoordinationStore, metadata: MetadataView) -> None:
        self._store = store
        self._metadata = metadata
        self._known: dict[tuple[str, str], bool] = {}

    def look_anew(self) -> None:
        self._known = {}

    async def not_here_yet(self, partition: Partition) -> Group | None:
        """A registered group that reads the topic and has not come to this partition: the topic has grown, say, while
        nobody received. Raises CoordinationError: then nobody can tell, and nothing may be taken for done."""
        for group in self._metadata.groups():
            if not partition.groups.knows(group.id) and await self._reads(group.id, partition.topic_id):
                return group
        return None

    async def _reads(self, group_id: str, topic_id: str) -> bool:
        key = (group_id, topic_id)
        if key not in self._known:
            self._known[key] = await self._store.get(keys.offsets(group_id, topic_id)) is not None
        return self._known[key]
