"""Whom a client trusts and who it is: which files count, what is said of those that cannot be used, and renewal."""

import logging
import os
import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from acklog import AsyncClient, Client
from acklog.client.renewed_tls import LOOK_INTERVAL_MS, RenewedTls
from acklog.client.tls_context import context_of
from acklog.client.tls_files import ClientTlsFiles, given_or_found_files
from acklog.errors import InvalidArgument
from tests.support.own_authority import TlsFilesOf, made_authority, signed, subject
from tests.support.tls_handshake import handshake

HTTPS, HTTP = "https://queue.example:8443", "http://127.0.0.1:8080"
CLIENT = subject("client", "orders")
VARIABLES = {"ACKLOG_CA_FILE": "e-ca", "ACKLOG_CERTIFICATE_FILE": "e-cert", "ACKLOG_KEY_FILE": "e-key"}


def found(url: str, given: ClientTlsFiles, variables: dict[str, str]) -> ClientTlsFiles | None:
    return given_or_found_files(url, given, lambda name: variables.get(name, ""))


class TestWhichCount:
    def test_none(self) -> None:
        assert found(HTTPS, ClientTlsFiles(), {}) is None
        assert found(HTTP, ClientTlsFiles(), {}) is None

    def test_those_of_the_environment(self) -> None:
        assert found(HTTPS, ClientTlsFiles(), VARIABLES) == ClientTlsFiles("e-ca", "e-cert", "e-key")
        assert found(HTTPS, ClientTlsFiles(), {"ACKLOG_CA_FILE": "e-ca"}) == ClientTlsFiles("e-ca")

    def test_what_is_given_comes_first_and_a_certificate_with_its_key(self) -> None:
        assert found(HTTPS, ClientTlsFiles(ca_file="ca"), VARIABLES) == ClientTlsFiles("ca", "e-cert", "e-key")
        given = ClientTlsFiles(certificate_file="cert", key_file="key")
        assert found(HTTPS, given, VARIABLES) == ClientTlsFiles("e-ca", "cert", "key")

    def test_the_environment_can_be_overruled_by_nothing(self) -> None:
        assert found(HTTPS, ClientTlsFiles("", "", ""), VARIABLES) is None

    def test_the_environment_is_not_for_servers_without_tls(self) -> None:
        assert found(HTTP, ClientTlsFiles(), VARIABLES) is None

    def test_who_gives_files_for_a_server_without_tls_is_told(self) -> None:
        with pytest.raises(InvalidArgument, match="without encryption") as refused:
            found(HTTP, ClientTlsFiles("ca"), {})
        assert refused.value.field == "ca_file"

    @pytest.mark.parametrize(("name", "missing"), [("certificate_file", "key_file"), ("key_file", "certificate_file")])
    def test_a_certificate_and_its_key_go_together(self, name: str, missing: str) -> None:
        with pytest.raises(InvalidArgument) as refused:
            ClientTlsFiles(**{name: "x"})
        assert refused.value.field == missing

    def test_of_the_environment_too(self) -> None:
        with pytest.raises(InvalidArgument):
            found(HTTPS, ClientTlsFiles(), {"ACKLOG_KEY_FILE": "e-key"})


@pytest.fixture
def files(tmp_path: Path) -> TlsFilesOf:
    authority = made_authority()
    return TlsFilesOf(tmp_path).trust(authority).hold(signed(authority, CLIENT))


def paths_of(files: TlsFilesOf) -> ClientTlsFiles:
    return ClientTlsFiles(str(files.ca), str(files.certificate), str(files.key))


class TestWhatCannotBeUsed:
    @pytest.mark.parametrize("name", ["ca_file", "certificate_file", "key_file"])
    @pytest.mark.parametrize(
        ("content", "says"),
        [
            (None, "cannot be read: No such file"),
            (b"", "in PEM"),
            (b"hello", "in PEM"),
            (b"-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n", "can"),
        ],
    )
    def test_it_is_said_of_the_file(self, files: TlsFilesOf, name: str, content: bytes | None, says: str) -> None:
        path = {"ca_file": files.ca, "certificate_file": files.certificate, "key_file": files.key}[name]
        path.unlink()
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InvalidArgument, match=says) as refused:
            context_of(paths_of(files))
        assert str(path) in refused.value.detail

    def test_a_directory(self, files: TlsFilesOf, tmp_path: Path) -> None:
        with pytest.raises(InvalidArgument, match="cannot be read"):
            context_of(ClientTlsFiles(str(tmp_path)))
        with pytest.raises(InvalidArgument, match="cannot be read"):
            context_of(ClientTlsFiles("a\0b"))

    def test_a_file_that_is_too_large(self, files: TlsFilesOf, monkeypatch: pytest.MonkeyPatch) -> None:
        size = files.ca.stat().st_size
        monkeypatch.setattr("acklog.client.tls_context.FILE_BYTES_MAX", size)
        context_of(ClientTlsFiles(str(files.ca)))
        monkeypatch.setattr("acklog.client.tls_context.FILE_BYTES_MAX", size - 1)
        with pytest.raises(InvalidArgument, match=f"has more than {size - 1} bytes"):
            context_of(ClientTlsFiles(str(files.ca)))

    def test_the_key_of_another(self, files: TlsFilesOf) -> None:
        files.key.write_bytes(signed(made_authority())[1])
        with pytest.raises(InvalidArgument, match="is not the key of the certificate in") as refused:
            context_of(paths_of(files))
        assert refused.value.field == "key_file"

    def test_a_key_with_a_password_is_not_asked_for(self, files: TlsFilesOf) -> None:
        key = load_pem_private_key(files.key.read_bytes(), None)
        files.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")))
        with pytest.raises(InvalidArgument, match="is encrypted"):
            context_of(paths_of(files))

    @pytest.mark.parametrize("kind", [Client, AsyncClient])
    def test_a_client_says_so_when_it_is_made(self, kind: type[Client | AsyncClient], tmp_path: Path) -> None:
        with pytest.raises(InvalidArgument, match="cannot be read"):
            kind(HTTPS, ca_file=str(tmp_path / "none"))
        with pytest.raises(InvalidArgument, match="without encryption"):
            kind(HTTP, ca_file=str(tmp_path / "none"))
        with pytest.raises(InvalidArgument, match="in the place of tls"):
            kind(HTTPS, ca_file="ca", tls=ssl.create_default_context())

    def test_the_environment_s_are_read_where_they_count(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("ACKLOG_CA_FILE", str(tmp_path / "none"))
        AsyncClient(HTTP)
        AsyncClient(HTTPS, tls=ssl.create_default_context())
        with pytest.raises(InvalidArgument, match="cannot be read"):
            AsyncClient(HTTPS)


def test_a_context_checks_names_and_takes_no_old_versions(files: TlsFilesOf) -> None:
    context = context_of(paths_of(files))
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert len(context.get_ca_certs()) == 1


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def now_ms(self) -> float:
        return self.now

    def pass_a_look(self) -> None:
        self.now += LOOK_INTERVAL_MS


def renew(path: Path, content: bytes) -> None:
    """As if a second had passed since the file was made: within a tick of the clock of files nothing tells the two."""
    later_ns = path.stat().st_mtime_ns + 1_000_000_000
    path.write_bytes(content)
    os.utime(path, ns=(later_ns, later_ns))


class TestRenewal:
    def test_what_has_changed_is_taken_a_second_later_at_most(self, files: TlsFilesOf, tmp_path: Path) -> None:
        clock = Clock()
        tls = RenewedTls(paths_of(files), now_ms=clock.now_ms)
        first = tls.context()
        successor = made_authority()
        server = TlsFilesOf(tmp_path / "server").hold(signed(successor)).trust(successor)
        files.trust(successor)
        files.hold(signed(successor, CLIENT))
        clock.now += LOOK_INTERVAL_MS - 1
        assert tls.context() is first
        with pytest.raises(ssl.SSLError):
            handshake(server.server_context(), tls.context(), "localhost")
        clock.now += 1
        handshake(server.server_context(wants_clients=True), tls.context(), "localhost")

    def test_what_has_not_changed_is_not_read_again(self, files: TlsFilesOf) -> None:
        clock = Clock()
        tls = RenewedTls(paths_of(files), now_ms=clock.now_ms)
        first = tls.context()
        for _ in range(3):
            clock.pass_a_look()
            assert tls.context() is first

    def test_files_are_looked_at_once_a_second(self, files: TlsFilesOf, monkeypatch: pytest.MonkeyPatch) -> None:
        looks: list[object] = []
        stat = Path.stat

        def counted(path: Path, **options: bool) -> os.stat_result:
            looks.append(path)
            return stat(path, **options)

        clock = Clock()
        tls = RenewedTls(paths_of(files), now_ms=clock.now_ms)
        monkeypatch.setattr(Path, "stat", counted)
        for _ in range(1000):
            tls.context()
        assert looks == []
        clock.pass_a_look()
        for _ in range(1000):
            tls.context()
        assert len(looks) == 3

    def test_what_cannot_be_used_is_said_once_and_changes_nothing(
        self, files: TlsFilesOf, caplog: pytest.LogCaptureFixture
    ) -> None:
        clock = Clock()
        tls = RenewedTls(paths_of(files), now_ms=clock.now_ms)
        first = tls.context()
        authority = made_authority()
        certificate, key = signed(authority, CLIENT)
        renew(files.key, key)  # a renewal that is at its half
        with caplog.at_level(logging.WARNING, logger="acklog.client"):
            for _ in range(5):
                clock.pass_a_look()
                assert tls.context() is first
        assert len(caplog.records) == 1
        assert "is not the key of the certificate" in caplog.text
        renew(files.certificate, certificate)
        clock.pass_a_look()
        assert tls.context() is not first

    @pytest.mark.parametrize("name", ["ca", "certificate", "key"])
    def test_a_file_that_is_gone(self, files: TlsFilesOf, name: str) -> None:
        clock = Clock()
        tls = RenewedTls(paths_of(files), now_ms=clock.now_ms)
        first, path = tls.context(), getattr(files, name)
        content = path.read_bytes()
        path.unlink()
        clock.pass_a_look()
        assert tls.context() is first
        path.write_bytes(content)
        clock.pass_a_look()
        assert tls.context() is not first
