"""What the processes of a cluster speak among each other, and how they get from clear to TLS while they serve."""

from dataclasses import dataclass
from enum import Enum

from cluster.tls.contexts import peer_client_context, peer_server_context
from cluster.tls.current_context import CurrentContext
from cluster.tls.tls_files import TlsFiles


class TlsUse(Enum):
    """Each step is safe once all processes have taken the one before: whoever is dialled understands it already."""

    OFF = "off"  # neither dialled nor taken
    ACCEPT = "accept"  # dialled in clear; both are taken
    PREFER = "prefer"  # dialled with TLS; both are taken
    REQUIRE = "require"  # nothing but TLS

    @property
    def is_dialled(self) -> bool:
        return self in (TlsUse.PREFER, TlsUse.REQUIRE)

    @property
    def takes_clear(self) -> bool:
        return self is not TlsUse.REQUIRE


@dataclass(frozen=True, slots=True)
class PeerTls:
    """Both ways alike: every process shows its certificate, whoever has dialled. `use` is not OFF."""

    use: TlsUse
    accepting: CurrentContext
    dialling: CurrentContext

    @classmethod
    def load(cls, use: TlsUse, files: TlsFiles) -> "PeerTls":
        """Blocks. Raises TlsFilesError."""
        return cls(use, CurrentContext(files, peer_server_context), CurrentContext(files, peer_client_context))
