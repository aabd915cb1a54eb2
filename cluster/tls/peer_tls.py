"""What the processes of a cluster speak among each other, and how they get from clear to TLS while they serve."""

from dataclasses import dataclass
from enum import Enum
from functools import partial

from cluster.tls.current_context import CurrentContext
from cluster.tls.own_certificate import own_client_context, own_server_context
from cluster.tls.peer_identity import PeerIdentity
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
    def load(cls, use: TlsUse, files: TlsFiles, own: PeerIdentity) -> "PeerTls":
        """Of the process that is `own`. Blocks. Raises TlsFilesError."""
        accepting = CurrentContext(files, partial(own_server_context, own=own))
        return cls(use, accepting, CurrentContext(files, partial(own_client_context, own=own)))
