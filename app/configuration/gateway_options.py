"""What `acklog gateway` can be told: what every server can, and where etcd is."""

from app.configuration.etcd_options import ETCD_GROUPS, EtcdOptions
from app.configuration.jwt_options import JWT_GROUPS, JwtOptions
from app.configuration.server_settings import SERVER_GROUPS, Settings
from app.configuration.setting_fields import SettingSources
from app.configuration.tls_options import PEER_GROUPS, TLS_GROUPS, PeerOptions, TlsOptions
from app.configuration.trace_options import TRACE_GROUPS, TraceOptions

# In a cluster a topic or group that nobody has made is a typing error more often than a wish.
GATEWAY = SettingSources(
    program="acklog gateway",
    kinds=(Settings, TlsOptions, JwtOptions, PeerOptions, EtcdOptions, TraceOptions),
    groups=SERVER_GROUPS | TLS_GROUPS | JWT_GROUPS | PEER_GROUPS | TRACE_GROUPS | ETCD_GROUPS,
    without=("data_dir",),
    defaults={"auto_create_topics": False, "auto_create_groups": False},
)
