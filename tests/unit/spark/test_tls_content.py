"""What goes from the driver to workers so that these, too, are trusted and trust."""

import pickle
from pathlib import Path

import pytest

from pyspark_acklog.connection import Connection, connection_of
from pyspark_acklog.failures import OptionError
from tests.support.own_authority import TlsFilesOf, made_authority, signed, subject
from tests.support.tls_handshake import handshake


@pytest.fixture
def files(tmp_path: Path) -> TlsFilesOf:
    authority = made_authority()
    made = TlsFilesOf(tmp_path / "client").trust(authority).hold(signed(authority, subject("client", "spark")))
    TlsFilesOf(tmp_path / "server").trust(authority).hold(signed(authority))
    return made


def on_a_worker(connection: Connection, files: TlsFilesOf) -> Connection:
    """It has no such files."""
    sent = pickle.dumps(connection)
    for path in (files.ca, files.certificate, files.key):
        path.unlink()
    found: Connection = pickle.loads(sent)
    return found


def shakes_hands(connection: Connection, tmp_path: Path) -> None:
    assert connection.tls is not None
    server = TlsFilesOf(tmp_path / "server").server_context(wants_clients=True)
    handshake(server, connection.tls.context(), "localhost")


def test_by_options(files: TlsFilesOf, tmp_path: Path) -> None:
    given = {"caFile": str(files.ca), "certificateFile": str(files.certificate), "keyFile": str(files.key)}
    connection = connection_of({"url": "https://a,https://b", **given}, timeout_s=1)
    assert "PRIVATE" not in repr(connection)
    shakes_hands(on_a_worker(connection, files), tmp_path)


def test_by_the_driver_s_environment(files: TlsFilesOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACKLOG_CA_FILE", str(files.ca))
    monkeypatch.setenv("ACKLOG_CERTIFICATE_FILE", str(files.certificate))
    monkeypatch.setenv("ACKLOG_KEY_FILE", str(files.key))
    assert connection_of({"url": "http://a"}, timeout_s=1).tls is None
    shakes_hands(on_a_worker(connection_of({"url": "https://a"}, timeout_s=1), files), tmp_path)


def test_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACKLOG_CA_FILE", raising=False)
    assert connection_of({"url": "https://a"}, timeout_s=1).tls is None


def test_the_key_of_another(files: TlsFilesOf) -> None:
    files.key.write_bytes(signed(made_authority())[1])
    given = {"certificateFile": str(files.certificate), "keyFile": str(files.key)}
    with pytest.raises(OptionError, match=r"option 'keyFile': .* is not the key of the certificate"):
        connection_of({"url": "https://a", **given}, timeout_s=1)


def test_nothing_is_left_on_the_worker_s_disk(
    files: TlsFilesOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"caFile": str(files.ca), "certificateFile": str(files.certificate), "keyFile": str(files.key)}
    connection = connection_of({"url": "https://a", **given}, timeout_s=1)
    (tmp_path / "worker").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "worker"))
    shakes_hands(connection, tmp_path)
    assert list((tmp_path / "worker").iterdir()) == []
