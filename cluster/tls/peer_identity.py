"""Who is at the other end of a connection inside the cluster, as its certificate says: a URI among its names.

`acklog://node/3` is node 3, `acklog://gateway` is a gateway. Host names say where a process runs, and anybody who runs
there would have them; what a process may do follows from what it is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

SCHEME = "acklog://"
_GATEWAY, _NODE = "gateway", "node/"


class PeerKind(Enum):
    """`STRANGER` has not introduced itself, or cannot prove what it says."""

    STRANGER = "stranger"
    GATEWAY = "gateway"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class PeerIdentity:
    """`node_id` is 0 for what is no node."""

    kind: PeerKind
    node_id: int = 0

    @property
    def uri(self) -> str:
        """What its certificate says. Not for a stranger."""
        return f"{SCHEME}{_NODE}{self.node_id}" if self.kind is PeerKind.NODE else f"{SCHEME}{self.kind.value}"

    def __str__(self) -> str:
        return f"node {self.node_id}" if self.kind is PeerKind.NODE else self.kind.value


def node_identity(node_id: int) -> PeerIdentity:
    return PeerIdentity(PeerKind.NODE, node_id)


GATEWAY = PeerIdentity(PeerKind.GATEWAY)
NOBODY = PeerIdentity(PeerKind.STRANGER)
"""Whoever has a certificate that is believed, and that names no part of a cluster."""


def identity_in(certificate: Mapping[str, Any] | None) -> PeerIdentity:
    """That of a verified certificate, as `ssl.SSLObject.getpeercert` gives it. One that names several parts is nobody:
    whatever it was made for, it must not be two of them."""
    names: Iterable[tuple[str, str]] = (certificate or {}).get("subjectAltName", ())
    found = [value.removeprefix(SCHEME) for kind, value in names if kind == "URI" and value.startswith(SCHEME)]
    return _identity(found[0]) if len(found) == 1 else NOBODY


def _identity(name: str) -> PeerIdentity:
    if name == _GATEWAY:
        return GATEWAY
    number = name.removeprefix(_NODE)
    if name.startswith(_NODE) and number.isascii() and number.isdigit() and str(int(number)) == number != "0":
        return node_identity(int(number))
    return NOBODY
