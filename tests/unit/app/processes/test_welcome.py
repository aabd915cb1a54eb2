"""The calls that a server prints: for every place where it may listen, and every certificate that it may show."""

import dataclasses

import pytest

from app.configuration.server_settings import Settings
from app.configuration.tls_options import TlsOptions, completed
from app.pki.host import LOOPBACK
from app.processes.welcome import ServerWelcome

PKI = completed(TlsOptions(pki="shop"), "server")


def call_of(welcome: ServerWelcome) -> str:
    """The first one, without what it sends."""
    line = next(each for each in welcome.text(8080).splitlines() if each.startswith("  curl "))
    return line.strip().partition("/messages")[0]


@pytest.mark.parametrize(
    ("listening", "hosts", "call"),
    [
        ("127.0.0.1", LOOPBACK, "https://127.0.0.1:8080"),
        ("::1", LOOPBACK, "https://[::1]:8080"),
        ("0.0.0.0", LOOPBACK, "https://localhost:8080"),
        ("127.0.0.1", ("queue.example.org", "localhost"), "https://localhost:8080"),
        (
            "127.0.0.1",
            ("queue.example.org",),
            "--connect-to queue.example.org:8080:127.0.0.1:8080 https://queue.example.org:8080",
        ),
        ("::", ("queue.example.org",), "--connect-to queue.example.org:8080:[::1]:8080 https://queue.example.org:8080"),
        ("0.0.0.0", ("127.0.0.1",), "https://127.0.0.1:8080"),
        ("10.0.0.1", LOOPBACK, "--connect-to localhost:8080:10.0.0.1:8080 https://localhost:8080"),
        ("10.0.0.1", ("queue.example.org", "10.0.0.1"), "https://10.0.0.1:8080"),
        ("10.0.0.1", ("*.example.org",), "https://10.0.0.1:8080"),
        ("127.0.0.1", (), "https://127.0.0.1:8080"),
    ],
)
def test_a_name_of_the_certificate(listening: str, hosts: tuple[str, ...], call: str) -> None:
    welcome = ServerWelcome(Settings(host=listening), PKI, hosts)
    assert call_of(welcome) == f"curl -sS --cacert shop/ca.pem {call}"


@pytest.mark.parametrize(
    ("settings", "hosts", "is_refused"),
    [
        (Settings(), ("queue.example.org",), True),
        (Settings(), ("queue.example.org", "localhost"), False),
        (Settings(), ("*.example.org",), False),
        (Settings(allowed_hosts="queue.example.org"), ("queue.example.org",), False),
        (Settings(allowed_hosts="other.example.org"), ("queue.example.org",), True),
        (Settings(allowed_hosts="*"), ("queue.example.org",), False),
        (Settings(require_tokens=True), ("queue.example.org",), False),
        (Settings(host="10.0.0.1", insecure=True), ("queue.example.org",), False),
        (Settings(host="::1"), ("queue.example.org",), True),
    ],
)
def test_a_name_that_it_is_not_served_by(settings: Settings, hosts: tuple[str, ...], is_refused: bool) -> None:
    """The calls would be answered with HOST_NOT_ALLOWED."""
    text = ServerWelcome(settings, PKI, hosts).text(8080)
    assert ("--allowed-hosts queue.example.org" in text) is is_refused
    assert ("Try it:\n" in text) is not is_refused


def test_in_clear() -> None:
    assert call_of(ServerWelcome(Settings(), TlsOptions())) == "curl -sS http://127.0.0.1:8080"


def test_a_certificate_from_elsewhere_may_be_of_a_public_authority() -> None:
    for pki in ("", "shop"):
        tls = TlsOptions(pki=pki, tls_certificate_file="/etc/cert.pem", tls_key_file="/etc/key.pem")
        assert call_of(ServerWelcome(Settings(), tls, LOOPBACK)) == "curl -sS https://127.0.0.1:8080"


def test_what_the_caller_has_to_show() -> None:
    tls = completed(TlsOptions(pki="our shop", tls_client_certificates="required"), "server")
    assert call_of(ServerWelcome(Settings(require_tokens=True), tls, LOOPBACK)) == (
        "curl -sS --cacert 'our shop/ca.pem' --cert CERTIFICATE --key KEY -H 'Authorization: Bearer TOKEN' "
        "https://127.0.0.1:8080"
    )


def test_a_certificate_that_is_gone_is_no_failure() -> None:
    tls = dataclasses.replace(PKI, tls_certificate_file="no-such/server.pem")
    assert ServerWelcome.of(Settings(), tls).hosts == ()
