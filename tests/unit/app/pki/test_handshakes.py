"""What the certificates are good for, by handshakes of the library that servers and clients have."""

import ssl
from pathlib import Path

import pytest

from app.pki.authority import Authority
from app.pki.certificate_subject import CertificateSubject
from tests.support.own_authority import DAY_MS, NOW_MS, SERVER, TlsFilesOf, made_authority, signed, subject
from tests.support.tls_handshake import handshake

NODE = subject("node", "1")
GATEWAY = subject("gateway")
CLIENT = subject("client", "orders")
ETCD = subject("etcd", "etcd-0")


class Two:
    """A server and a client, each with its files."""

    def __init__(self, directory: Path) -> None:
        self.authority = made_authority()
        self.server = TlsFilesOf(directory / "server").trust(self.authority)
        self.client = TlsFilesOf(directory / "client").trust(self.authority)

    def shake(self, host: str = "localhost", *, wants_clients: bool = False) -> ssl.SSLObject:
        server = self.server.server_context(wants_clients=wants_clients)
        return handshake(server, self.client.client_context(), host)


@pytest.fixture
def two(tmp_path: Path) -> Two:
    return Two(tmp_path)


@pytest.mark.parametrize("holder", [SERVER, NODE, GATEWAY, ETCD], ids=lambda each: each.file_stem)
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "queue.example.org", "a.nodes.example.org"])
def test_servers_are_known_under_their_hosts(two: Two, holder: CertificateSubject, host: str) -> None:
    hosts = ("localhost", "127.0.0.1", "::1", "queue.example.org", "*.nodes.example.org")
    two.server.hold(signed(two.authority, holder, hosts=hosts))
    certificate = two.shake(host).getpeercert()
    assert certificate is not None
    assert ("URI", holder.uri) in certificate["subjectAltName"]


@pytest.mark.parametrize("host", ["queue.example.org", "127.0.0.2", "a.localhost"])
def test_not_under_others(two: Two, host: str) -> None:
    two.server.hold(signed(two.authority))
    with pytest.raises(ssl.SSLCertVerificationError, match=r"mismatch|not valid for"):
        two.shake(host)


def test_another_authority_is_not_trusted(two: Two) -> None:
    two.server.hold(signed(made_authority()))
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer certificate"):
        two.shake()


def test_what_has_ended_is_refused(two: Two, tmp_path: Path) -> None:
    past_ms = NOW_MS - 91 * DAY_MS
    old = made_authority(now_ms=past_ms)
    two.client.trust(old)
    two.server.hold(signed(old, days=90, now_ms=past_ms))
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate has expired"):
        two.shake()
    two.server.hold(signed(old, days=92, now_ms=past_ms))
    two.shake()


def test_what_has_not_begun_is_refused_but_for_clocks_that_differ(two: Two) -> None:
    two.server.hold(signed(two.authority, now_ms=NOW_MS + 4 * 60_000))
    two.shake()
    two.server.hold(signed(two.authority, now_ms=NOW_MS + 60 * 60_000))
    with pytest.raises(ssl.SSLCertVerificationError, match="not yet valid"):
        two.shake()


@pytest.mark.parametrize("holder", [CLIENT, NODE, GATEWAY, SERVER, ETCD], ids=lambda each: each.file_stem)
def test_who_calls_shows_who_it_is(two: Two, holder: CertificateSubject) -> None:
    two.server.hold(signed(two.authority))
    two.client.hold(signed(two.authority, holder))
    two.shake(wants_clients=True)


def test_who_calls_with_one_of_another_authority_is_refused(two: Two) -> None:
    two.server.hold(signed(two.authority))
    two.client.hold(signed(made_authority(), CLIENT))
    with pytest.raises(ssl.SSLError):
        two.shake(wants_clients=True)


def test_who_calls_without_one_is_refused(two: Two) -> None:
    two.server.hold(signed(two.authority))
    with pytest.raises(ssl.SSLError):
        two.shake(wants_clients=True)


def test_a_client_serves_nobody(two: Two) -> None:
    two.server.hold(signed(two.authority, CLIENT))
    with pytest.raises(ssl.SSLCertVerificationError, match=r"purpose"):
        two.shake()


def test_a_bundle_of_two_authorities_trusts_what_either_has_signed(two: Two) -> None:
    successor = made_authority()
    two.client.trust(successor, two.authority)
    for authority in (two.authority, successor):
        two.server.hold(signed(authority))
        two.shake()


def test_a_certificate_signs_no_others(two: Two) -> None:
    """Its holder could else be anybody."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificate

    pem, key_pem = signed(two.authority, NODE)
    certificate, key = load_pem_x509_certificate(pem), load_pem_private_key(key_pem, None)
    false_pem, false_key = signed(Authority(certificate, key))  # type: ignore[arg-type]
    two.server.hold((false_pem + pem, false_key))
    with pytest.raises(ssl.SSLCertVerificationError):
        two.shake()
