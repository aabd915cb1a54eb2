"""Where etcd is, who we are there, and every limit of the client."""

from dataclasses import dataclass, field

from cluster.backoff import Backoff


@dataclass(frozen=True, slots=True)
class EtcdUser:
    name: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class EtcdTls:
    """Contents of PEM files. With `certificate` and `private_key` we show who we are as well (mTLS)."""

    certificate_authority: bytes
    certificate: bytes | None = None
    private_key: bytes | None = field(default=None, repr=False)

    server_name: str | None = None
    """The name in etcd's certificates, where it is not the host of the endpoint."""

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.private_key is None):
            raise ValueError("a certificate for etcd needs its private key, and a private key its certificate")


@dataclass(frozen=True, slots=True)
class EtcdSettings:
    """`endpoints` are `host:port` of the members' client addresses. Beyond a limit of calls, leases or watches one more
    is refused as unavailable."""

    endpoints: tuple[str, ...]
    tls: EtcdTls | None = None
    user: EtcdUser | None = None

    request_timeout_ms: int = 5_000
    """A call ends by then, with all its tries. What is still open is unavailable, or unknown."""

    try_timeout_ms: int = 2_000
    """How long one try of a call that may be repeated waits for its answer."""

    connect_timeout_ms: int = 1_000

    tries_max: int = 20
    """Of one call, those that etcd refused without doing anything included."""

    logins_max: int = 2
    """Of one call, after etcd refused its token."""

    between_tries: Backoff = field(default_factory=lambda: Backoff(first_ms=50, max_ms=1_000))

    endpoint_rest: Backoff = field(default_factory=lambda: Backoff(first_ms=200, max_ms=10_000))
    """How long an endpoint that failed is passed over while there are others."""

    ping_interval_ms: int = 10_000
    """On an idle connection. Not below 5,000: etcd would close the connection."""

    ping_timeout_ms: int = 3_000

    calls_max: int = 10_000
    """Calls under way at the same time."""

    request_bytes_max: int = 1_536 * 1024
    """etcd's own default (--max-request-bytes). A larger transaction is a ValueError."""

    listing_page_keys: int = 256
    """Keys in one answer; a listing asks as often as it takes, at one revision."""

    listing_restarts_max: int = 5
    """Times a listing starts over because its revision was compacted meanwhile."""

    leases_max: int = 10_000
    """Leases that this store keeps account of."""

    lease_margin_ms: int = 200
    """How long before etcd could end a lease it is declared lost here (rule R16)."""

    watches_max: int = 1_000

    watch_batches_max: int = 1_000
    """Revisions that wait for a watch's reader. A full buffer stops reading from etcd."""

    watch_probe_after_ms: int = 5_000
    """Silence of a watch's stream after which etcd is asked whether it is there."""

    watch_answer_timeout_ms: int = 3_000
    """How long etcd may take to open a watch, or to answer that question, until the stream counts as broken."""

    watch_resume_timeout_ms: int = 30_000
    """How long a broken watch is resumed in vain until its reader is told that etcd is unavailable."""

    close_grace_ms: int = 1_000
    """How long calls under way may take when the store is closed."""

    def __post_init__(self) -> None:
        if not self.endpoints:
            raise ValueError("endpoints: give at least one, as host:port")
        for endpoint in self.endpoints:
            _check_endpoint(endpoint)
        if len({*self.endpoints}) < len(self.endpoints):
            raise ValueError("endpoints: one is given twice")
        if self.ping_interval_ms < 5_000:
            raise ValueError(f"ping_interval_ms: {self.ping_interval_ms} is below 5000, which etcd does not allow")

    @property
    def response_bytes_max(self) -> int:
        """The largest answer: a full page of the largest keys and values that etcd takes."""
        return self.listing_page_keys * self.request_bytes_max


def _check_endpoint(endpoint: str) -> None:
    host, colon, port = endpoint.rpartition(":")
    if "://" in endpoint or "/" in endpoint:
        raise ValueError(f"endpoints: {endpoint!r} must be host:port, without a scheme; TLS is a setting of its own")
    if not host or not colon or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"endpoints: {endpoint!r} must be host:port, such as 10.0.0.1:2379 or [::1]:2379")
