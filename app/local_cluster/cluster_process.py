"""One process of a local cluster: what it is, and how it is doing."""

from dataclasses import dataclass
from enum import Enum

from app.local_cluster.server_process import ServerProcess


class Kind(Enum):
    """In the order in which they are started; they are stopped the other way round."""

    ETCD = "etcd"
    NODE = "node"
    GATEWAY = "gateway"


class Life(Enum):
    WAITING = "waiting"
    STARTING = "starting"
    READY = "ready"
    ENDED = "ended"
    GIVEN_UP = "given up"
    STOPPING = "stopping"
    STOPPED = "stopped"


@dataclass(slots=True, eq=False)
class ClusterProcess:
    """`address` is where it serves; `process.port` where it is asked how it is."""

    kind: Kind
    number: int
    process: ServerProcess
    address: str
    life: Life = Life.WAITING
    ended_with: int = 0
    """Its last exit code, negative for a signal."""
    restarts: int = 0

    @property
    def name(self) -> str:
        return f"{self.kind.value} {self.number}"
