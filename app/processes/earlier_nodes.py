"""Naming nodes of an earlier version, loudly where they cannot serve what there is."""

from collections.abc import Callable, Iterable

import structlog

from cluster.metadata.metadata_view import MetadataView
from cluster.model.needed_protocol import needed_by_catalog
from cluster.model.values import NodeRegistration

_log = structlog.get_logger(__name__)


def name_earlier_nodes(metadata: MetadataView, *, own_protocol: int) -> Callable[[], None]:
    """From now on, whenever the metadata changes. Returns how to stop it."""
    earlier = _EarlierNodes(metadata, own_protocol)
    earlier.look()
    return metadata.subscribe(earlier.look)


class _EarlierNodes:
    """Says each thing of a node once in its life: a warning that it is of an earlier version than this process, an
    error when a group exists that it cannot serve."""

    def __init__(self, metadata: MetadataView, own_protocol: int) -> None:
        self._metadata = metadata
        self._own_protocol = own_protocol
        self._told: frozenset[tuple[int, int, bool]] = frozenset()

    def look(self) -> None:
        earlier = [node for node in self._metadata.nodes() if node.newest_protocol < self._own_protocol]
        if not earlier:
            self._told = frozenset()
            return
        needed = needed_by_catalog(self._metadata.groups(), self._metadata.topics())
        self._tell(earlier, needed)

    def _tell(self, earlier: Iterable[NodeRegistration], needed: int) -> None:
        telling = {}
        for node in earlier:
            is_too_old = node.newest_protocol < needed
            telling[node.node_id, node.incarnation, is_too_old] = node
        for (node_id, _, is_too_old), node in telling.items():
            if (node_id, node.incarnation, is_too_old) in self._told:
                continue
            versions = {"node": node_id, "address": node.address, "protocol": node.newest_protocol}
            if is_too_old:
                _log.error("node_too_old", **versions, needed_protocol=needed)
            else:
                _log.warning("node_of_earlier_version", **versions, own_protocol=self._own_protocol)
        self._told = frozenset(telling)
