"""Limits of the connections to storage nodes. Sizes in bytes, times in milliseconds."""

from dataclasses import dataclass, field, replace

from cluster.line_limit import LineLimitSettings
from storage.rpc.handshake import ProtocolVersions


@dataclass(frozen=True, slots=True)
class RpcClientSettings:
    in_flight_requests_max: int = 4_096
    """Unanswered requests to one node; beyond it OVERLOADED. Not above the server's, or it stops reading."""

    in_flight_bytes_max: int = 128 * 1024 * 1024
    """Unanswered bytes of requests to one node; beyond it OVERLOADED."""

    request_timeout_ms: int = 15_000
    """How long an answer may take, on top of what a long poll may wait."""

    produce_margin_ms: int = 1_000
    """What an append gets on top of its own `timeout_ms`, so that the node's answer comes first."""

    dial_timeout_ms: int = 3_000
    """For the connection and its handshake."""

    backoff_min_ms: int = 50
    backoff_max_ms: int = 5_000
    """Between dials to a node that does not answer: first and last pause."""

    is_node: bool = False
    """Whether it is a node that dials, and not a gateway: each kind has connections of its own."""

    versions: ProtocolVersions = field(default_factory=ProtocolVersions)


@dataclass(frozen=True, slots=True)
class RpcServerSettings:
    strangers_max: int = 128
    """Connections that have not introduced themselves; the oldest makes room for a new one."""

    hello_timeout_ms: int = 5_000
    """How long a connection may take to introduce itself."""

    gateway_connections_max: int = 1_024
    node_connections_max: int = 512
    """Connections of each kind of peer. Beyond it the one that has been idle longest makes room, or the new one is
    closed at once."""

    idle_ms: int = 60_000
    """How long a connection asks nothing before it may have to make room."""

    log_lines: LineLimitSettings = field(default_factory=LineLimitSettings)
    """Of each kind of line that strangers can cause."""

    @property
    def connections_max(self) -> int:
        return self.strangers_max + self.gateway_connections_max + self.node_connections_max

    def within(self, connections_max: int) -> "RpcServerSettings":
        """The same with no more connections than that, each kind with its share of them."""
        if connections_max >= self.connections_max:
            return self
        strangers = min(self.strangers_max, connections_max // 8)
        nodes = min(self.node_connections_max, connections_max // 2)
        gateways = connections_max - strangers - nodes
        return replace(
            self, strangers_max=strangers, node_connections_max=nodes, gateway_connections_max=max(1, gateways)
        )

    requests_per_connection_max: int = 4_096
    """Requests being served for one connection; beyond it the connection is not read until one is answered."""

    request_bytes_per_connection_max: int = 128 * 1024 * 1024
    """Bytes of the requests being served for one connection; likewise."""

    versions: ProtocolVersions = field(default_factory=ProtocolVersions)
