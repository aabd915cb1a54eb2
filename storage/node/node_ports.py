"""What a node is given: all that is impure or elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationStore
from cluster.ports.entropy import Entropy
from storage.disk.executor import IoExecutor
from storage.disk.port import Disk
from storage.encryption.master_key import NO_MASTER_KEYS, MasterKeys
from storage.node.groups.dead_letter_sink import DeadLetterSink
from storage.node.replicas.peer_directory import Peers
from storage.rpc.node_api import NodeApi
from storage.schedule.memory_index import IN_MEMORY
from storage.schedule.schedule_index import ScheduleIndexes
from storage.table import memory_table_index
from storage.table.table_index import TableIndexes


def _alone(node_id: int) -> NodeApi:
    raise ServerError(ProblemCode.UNAVAILABLE, f"There is no node {node_id}.")


@dataclass(frozen=True, slots=True)
class NodePorts:
    """Tests and simulations give others."""

    store: CoordinationStore
    metadata: MetadataView
    dead_letters: DeadLetterSink
    peers: Peers
    disk: Disk
    io: IoExecutor
    clock: Clock
    entropy: Entropy
    schedule_indexes: ScheduleIndexes = IN_MEMORY
    table_indexes: TableIndexes = memory_table_index.IN_MEMORY
    master_keys: MasterKeys = NO_MASTER_KEYS
    client_of: Callable[[int], NodeApi] = _alone
    """The interface of a node, this one among them; raises ServerError UNAVAILABLE for one that is not known."""
