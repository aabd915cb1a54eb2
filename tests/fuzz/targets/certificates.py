"""Certificates and keys in PEM, as files and peers show them."""

from cryptography.hazmat.primitives.serialization import Encoding

from app.pki.authority import base_name, has_signed
from app.pki.certificate_file import certificate_of, name_text, read_certificate, read_x509
from app.pki.certificate_subject import subject_of_stem
from app.pki.host import checked_hosts
from app.pki.pki_error import PkiError
from app.pki.private_key import read_private_key
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import joined, parts_of, text_of
from tests.support.own_authority import made_authority, pem_of, signed, subject

_NOW_MS = 1_700_000_000_000
_CERTIFICATES, _KEY, _HOSTS, _STEM = b"certificates", b"key", b"hosts", b"stem"


class NoPemError(ValueError):
    """The first part names nothing that can be read."""


def _seeds() -> list[bytes]:
    authority = made_authority(now_ms=_NOW_MS)
    own, key = signed(authority, subject("node", "1"), now_ms=_NOW_MS)
    client, _ = signed(authority, subject("client", "orders"), now_ms=_NOW_MS)
    return [
        joined(_CERTIFICATES, own),
        joined(_CERTIFICATES, client + pem_of(authority)),
        joined(_CERTIFICATES, own[: len(own) // 2]),
        joined(_CERTIFICATES, b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
        joined(_KEY, key),
        joined(_KEY, own),
        joined(_HOSTS, b"queue.example.org *.nodes.example.org 10.0.0.7 ::1 fe80::1%eth0 a:80 1.2.3"),
        joined(_STEM, b"client-orders"),
        joined(_STEM, b"node-0"),
    ]


def _read(data: bytes) -> None:
    what, content = parts_of(data, 2)
    if what == _CERTIFICATES:
        _certificates(content)
    elif what == _KEY:
        read_private_key(content)
    elif what == _HOSTS:
        hosts = checked_hosts(text_of(content).split())
        assert checked_hosts(list(hosts)) == hosts
    elif what == _STEM:
        found = subject_of_stem(text_of(content))
        assert found is None or found.file_stem == text_of(content)
        assert found is None or found.uri.startswith("acklog://")
    else:
        raise NoPemError


def _certificates(content: bytes) -> None:
    found = read_x509(content)
    shown = read_certificate(content)
    assert shown.pem == found[0].public_bytes(Encoding.PEM)
    for each in found:
        certificate_of(each)
        has_signed(found[0], each)
        base_name(each)
        name_text(each.issuer)


TARGET = FuzzTarget(_read, (PkiError, NoPemError), _seeds)
