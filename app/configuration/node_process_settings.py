"""What a node of a cluster is told: who it is, where it can be reached, and the limits of its parts."""

from dataclasses import dataclass, field

from cluster.controller.controller_settings import ControllerSettings
from cluster.life.registration_settings import RegistrationSettings
from cluster.metadata.metadata_view import MetadataViewSettings
from storage.node.replicas.failure_detector import FailureDetectorSettings
from storage.replication.replication_settings import ReplicationSettings
from storage.rpc.rpc_settings import RpcClientSettings, RpcServerSettings

NODE_ID_MAX = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProcessSettings:
    """`listen` and `advertise` are addresses of the transport; `advertise` "" is the one it listens on."""

    node_id: int
    listen: str
    advertise: str = ""
    rack: str = ""
    """What fails together; "" is a rack of the node's own."""

    leave_timeout_ms: int = 10_000
    """How long a node that is about to stop waits for others to lead what it leads."""

    vital_interval_ms: int = 500
    """How often it is looked whether the data directory has failed, is full, or stands still."""

    registration: RegistrationSettings = field(default_factory=RegistrationSettings)
    controller: ControllerSettings = field(default_factory=ControllerSettings)
    metadata: MetadataViewSettings = field(default_factory=MetadataViewSettings)
    rpc_server: RpcServerSettings = field(default_factory=RpcServerSettings)
    rpc_client: RpcClientSettings = field(default_factory=RpcClientSettings)
    replication: ReplicationSettings = field(default_factory=ReplicationSettings)
    failure_detector: FailureDetectorSettings = field(default_factory=FailureDetectorSettings)

    def __post_init__(self) -> None:
        if not 1 <= self.node_id <= NODE_ID_MAX:
            raise ValueError(f"node_id is {self.node_id}, it may be 1 to {NODE_ID_MAX}")
        if not self.listen:
            raise ValueError("listen is empty, it must be an address")
        if self.failure_detector.suspicion.silent_ms <= self.replication.contact_ms:
            raise ValueError(
                "a leader that is cut off must notice it (contact_ms) before it is declared dead (silent_ms)"
            )
        if self.leave_timeout_ms < 0 or self.vital_interval_ms < 1:
            raise ValueError("leave_timeout_ms must not be negative, vital_interval_ms must be positive")
