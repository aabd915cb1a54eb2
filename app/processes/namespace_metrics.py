"""What a node tells of the namespaces of the partitions that it leads."""

from collections.abc import Iterator

from prometheus_client.core import Metric

from acklog.wire.names import namespace_of
from app.gateway.bounded_names import BoundedNames
from app.gateway.exposition import LabelledFamily, Labels
from cluster.metadata.metadata_view import MetadataView
from storage.node.storage_node import StorageNode

PARTITIONS_AT_ONCE = 200
"""Between two turns of others."""

_NAMES = ("namespace",)


class NamespaceMetrics:
    def __init__(self, node: StorageNode, metadata: MetadataView, names: BoundedNames) -> None:
        self._node = node
        self._metadata = metadata
        self._names = names

    def steps(self) -> Iterator[Metric | None]:
        """Yields None where others may have their turn."""
        self._names.keep(lambda name: self._metadata.namespaces.find(name) is not None)
        sizes: dict[str, int] = {}
        lags: dict[str, int] = {}
        for number, partition in enumerate(list(self._node.partitions_led())):
            host = partition.host
            namespace = namespace_of(host.topic.name)
            if namespace:
                label = self._names.label(namespace)
                sizes[label] = sizes.get(label, 0) + host.log.size_bytes
                lag = sum(
                    host.high_watermark - state.progress - state.done_above_count for state in partition.groups.states()
                )
                lags[label] = lags.get(label, 0) + lag
            if not (number + 1) % PARTITIONS_AT_ONCE:
                yield None
        yield _family("acklog_namespace_log_bytes", "Bytes of the logs of a namespace's topics", sizes)
        yield _family("acklog_namespace_lag", "Messages that groups of a namespace have not done, of all groups", lags)


def _family(name: str, text: str, values: dict[str, int]) -> Metric:
    rows: dict[Labels, float] = {Labels(_NAMES, (label,)): value for label, value in values.items()}
    return LabelledFamily(name, text, "gauge", _NAMES, rows)
