"""Whatever text is given as a host: it is refused, or a certificate for it is one that TLS finds under that name."""

import ipaddress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.pki.certificate_file import read_certificate
from app.pki.host import checked_host
from app.pki.pki_error import PkiError
from tests.support.own_authority import TlsFilesOf, made_authority, signed
from tests.support.tls_handshake import handshake

LABELS = st.from_regex(r"[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,20}[a-zA-Z0-9_])?", fullmatch=True)
NAMES = st.lists(LABELS, min_size=1, max_size=5).map(".".join)
HOSTS = st.one_of(
    NAMES,
    NAMES.map(lambda name: f"*.{name}"),
    st.ip_addresses().map(str),
    st.text(max_size=80),
    st.text(alphabet="aA0-_.*:[]/% \n", max_size=30),
)
AUTHORITY = made_authority()


@given(HOSTS)
@settings(deadline=None)
def test_what_is_taken_is_in_its_one_spelling(text: str) -> None:
    try:
        host = checked_host(text)
    except PkiError:
        return
    assert checked_host(host) == host
    assert host.isascii()
    assert host == host.lower()
    assert read_certificate(signed(AUTHORITY, hosts=(host,))[0]).hosts == (host,)


@given(st.one_of(NAMES, st.ip_addresses().map(str)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
def test_and_clients_find_it_there(tmp_path: Path, text: str) -> None:
    try:
        host = checked_host(text)
    except PkiError:
        return
    files = TlsFilesOf(tmp_path / "one").trust(AUTHORITY).hold(signed(AUTHORITY, hosts=(host,)))
    handshake(files.server_context(), TlsFilesOf(tmp_path / "one").client_context(), host)


@pytest.mark.parametrize("text", ["::ffff:10.0.0.1", "0:0:0:0:0:ffff:a00:1"])
def test_an_address_has_one_spelling(text: str) -> None:
    assert checked_host(text) == str(ipaddress.ip_address(text))
