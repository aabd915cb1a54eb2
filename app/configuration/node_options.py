"""What `acklog node` can be told."""

from dataclasses import dataclass

from app.configuration.etcd_options import ETCD_GROUPS, EtcdOptions
from app.configuration.master_key_options import MASTER_KEY_GROUPS, MasterKeyOptions
from app.configuration.node_process_settings import NODE_ID_MAX, NodeProcessSettings
from app.configuration.setting_error import SettingsError
from app.configuration.setting_fields import (
    SettingSources,
    check_fields,
    number,
    option_of,
    switch,
    text,
    texts,
    where_to_set,
)
from app.configuration.tls_options import PEER_GROUPS, TLS_GROUPS, PeerOptions, TlsOptions
from app.configuration.trace_options import TRACE_GROUPS, TraceOptions
from storage.rpc.tcp_transport import parse_address

RACK_LENGTH_MAX = 100
_WILDCARDS = frozenset({"", "0.0.0.0", "::"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    id: int = number(0, 1, NODE_ID_MAX, "number of this node, which no other node may have; must be given")
    data_dir: str = text("./data", "where the node keeps its logs")
    listen: str = text("127.0.0.1:7000", "address for gateways and other nodes; port 0 picks a free one")
    insecure: bool = switch(False, "listen on other machines' networks without TLS between nodes and gateways")
    advertise: str = text("", "address where they reach this node; empty: the one it listens on")
    rack: str = text("", "what fails together with this node (rack, zone, host); empty: nothing else")
    http: str = text("127.0.0.1:7080", "address of /healthz, /readyz and /metrics; port 0 picks a free one")
    allowed_hosts: str = texts(
        "", "names under which that may be called, separated by commas, * for any; empty: any but on loopback"
    )
    leave_timeout_ms: int = number(10_000, 0, 600_000, "how long a stop waits until other nodes lead")
    metric_names_max: int = number(100, 1, 10_000, "topics and groups with metrics of their own; the rest is 'other'")
    log_level: str = text("info", "debug, info, warning or error")

    def __post_init__(self) -> None:
        if self.id == 0:
            raise SettingsError(f"the node has no id: give it a number of its own ({where_to_set('id')})")
        check_fields(self)
        if self.log_level not in {"debug", "info", "warning", "error"}:
            raise SettingsError(f"log_level is {self.log_level!r}, it may be debug, info, warning or error")
        if not self.data_dir.strip():
            raise SettingsError(f"data_dir is empty, it must name a directory ({where_to_set('data_dir')})")
        if len(self.rack) > RACK_LENGTH_MAX or not self.rack.isprintable():
            raise SettingsError(f"rack is {self.rack[:200]!r}, it may be up to {RACK_LENGTH_MAX} printable characters")
        host, _ = self._address("listen")
        self._address("http")
        if self.advertise:
            advertised_host, port = self._address("advertise")
            if advertised_host in _WILDCARDS or not port:
                raise SettingsError(f"advertise is {self.advertise!r}, others need a host and a port to reach")
        elif host in _WILDCARDS:
            raise SettingsError(
                f"the node listens on {self.listen}, which is no address that others could reach: "
                f"say which is ({where_to_set('advertise')})"
            )

    @property
    def listen_address(self) -> tuple[str, int]:
        return self._address("listen")

    @property
    def http_address(self) -> tuple[str, int]:
        return self._address("http")

    def process_settings(self) -> NodeProcessSettings:
        return NodeProcessSettings(
            node_id=self.id,
            listen=self.listen,
            advertise=self.advertise,
            rack=self.rack,
            leave_timeout_ms=self.leave_timeout_ms,
        )

    def _address(self, name: str) -> tuple[str, int]:
        given = getattr(self, name)
        try:
            return parse_address(given)
        except ValueError:
            raise SettingsError(
                f"{name} is {given!r}, it must be host:port, such as 10.0.0.1:7000 ({option_of(name)})"
            ) from None


NODE_GROUPS = {
    "Who it is, and where": ("id", "listen", "advertise", "insecure", "rack", "http", "allowed_hosts"),
    "What it keeps, and what it says": ("data_dir", "log_level", "metric_names_max", "leave_timeout_ms"),
}

NODE = SettingSources(
    program="acklog node",
    kinds=(NodeOptions, TlsOptions, PeerOptions, MasterKeyOptions, EtcdOptions, TraceOptions),
    groups=NODE_GROUPS | TLS_GROUPS | PEER_GROUPS | MASTER_KEY_GROUPS | TRACE_GROUPS | ETCD_GROUPS,
)
