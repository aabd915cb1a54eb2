"""Limits of the connections to storage nodes. Sizes in bytes, times in milliseconds."""

from dataclasses import dataclass, field

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

    versions: ProtocolVersions = field(default_factory=ProtocolVersions)


@dataclass(frozen=True, slots=True)
class RpcServerSettings:
    connections_max: int = 1_024
    """Beyond it a new connection is closed at once."""

    requests_per_connection_max: int = 4_096
    """Requests being served for one connection; beyond it the connection is not read until one is answered."""

    request_bytes_per_connection_max: int = 128 * 1024 * 1024
    """Bytes of the requests being served for one connection; likewise."""

    versions: ProtocolVersions = field(default_factory=ProtocolVersions)
