"""Whom a client's certificate names: one name of all that may stand in it, so that a certificate is one caller."""

import ssl
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

CERTIFICATE_NAME_LENGTH_MAX = 249


class ClientCertificate(NamedTuple):
    """Shown on a connection, and verified there. Nobody gets in with it from `ends_at_ms` on, also on a connection that
    was opened before."""

    name: str
    ends_at_ms: int


def certificate_shown(found: Mapping[str, Any] | None) -> ClientCertificate | None:
    """`found` is what `ssl.SSLObject.getpeercert` says: nothing of a certificate that was not verified. None also where
    it names nobody."""
    if not found:
        return None
    name = _name_in(found)
    if not name or len(name) > CERTIFICATE_NAME_LENGTH_MAX or not name.isprintable():
        return None
    return ClientCertificate(name, ssl.cert_time_to_seconds(found["notAfter"]) * 1000)


def _name_in(found: Mapping[str, Any]) -> str:
    """Its URI, else its first DNS name, else its common name. With several URIs, or common names, it is nobody's:
    whatever it was made for, it must not be two callers."""
    names = found.get("subjectAltName", ())
    uris = [value for kind, value in names if kind == "URI"]
    if uris:
        return _only(uris)
    for kind, value in names:
        if kind == "DNS":
            return str(value)
    return _only(list(_common_names(found)))


def _only(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ""


def _common_names(found: Mapping[str, Any]) -> Iterator[str]:
    for relative_name in found.get("subject", ()):
        for kind, value in relative_name:
            if kind == "commonName":
                yield value
