"""Whom a certificate is for: what kind of process, which one, and the URI by which others know it.

The URI is a subjectAltName. Servers decide by it what the holder may do, so it is a contract: what is signed today is
read by later versions.
"""

import re
from dataclasses import dataclass
from enum import Enum

from acklog.wire.limits import NODE_ID_MAX
from app.pki.pki_error import PkiError

SCHEME = "acklog"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,47}")
_NODE_ID = re.compile(r"[1-9][0-9]{0,6}")
_KEY_ENDING = "-key"


class CertificateKind(Enum):
    NODE = "node"
    GATEWAY = "gateway"
    SERVER = "server"
    CLIENT = "client"
    ETCD = "etcd"


_OF_ALL_ALIKE = (CertificateKind.GATEWAY, CertificateKind.SERVER)


@dataclass(frozen=True, slots=True)
class CertificateSubject:
    """`name` is a node's id, or a name; "" for a gateway or a server without one. All gateways have one identity,
    and so have all servers: there the name only tells files apart."""

    kind: CertificateKind
    name: str = ""

    def __post_init__(self) -> None:
        if self.kind is CertificateKind.NODE:
            _check_node_id(self.name)
        elif self.name or self.kind not in _OF_ALL_ALIKE:
            _check_name(self.name)

    @property
    def uri(self) -> str:
        if self.kind in _OF_ALL_ALIKE:
            return f"{SCHEME}://{self.kind.value}"
        return f"{SCHEME}://{self.kind.value}/{self.name}"

    @property
    def file_stem(self) -> str:
        """`node-0`: what its files are called. It is the common name, too: with its kind before it a client cannot be
        named as a user of etcd, which goes by common names."""
        return f"{self.kind.value}-{self.name}" if self.name else self.kind.value

    @property
    def serves(self) -> bool:
        return self.kind is not CertificateKind.CLIENT


def subject_of_stem(stem: str) -> CertificateSubject | None:
    """Whose the files of that name are; None where none are called so."""
    kind, _, name = stem.partition("-")
    if kind not in {each.value for each in CertificateKind}:
        return None
    try:
        return CertificateSubject(CertificateKind(kind), name)
    except PkiError:
        return None


def _check_node_id(text: str) -> None:
    if not _NODE_ID.fullmatch(text) or int(text) > NODE_ID_MAX:
        hint = "Give the number that the node gets by --id."
        raise PkiError(f"{text!r} is no id of a node, which is 1 to {NODE_ID_MAX}", field="ID", hint=hint)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        hint = "Use up to 48 letters, digits, '.', '_' and '-', beginning with a letter or digit."
        raise PkiError(f"{name!r} cannot be a name", field="NAME", hint=hint)
    if f"-{name}".endswith(_KEY_ENDING):
        # `client-a-key.pem` would be the certificate of `a-key` and the key of `a`.
        raise PkiError(f"{name!r} ends with 'key', which files of keys do", field="NAME", hint="Take another name.")
