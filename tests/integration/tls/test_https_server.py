"""`acklog serve` by https, as a process: called, told off, given new certificates, and started with wrong ones."""

import json
import shutil
import signal
import ssl
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import acklog
from app.commands.command_end import FAILED, USAGE
from app.pki.host import LOOPBACK
from tests.integration.conftest import ServerMaker
from tests.support.authority import OwnAuthority
from tests.support.recording_proxy import RecordingProxy
from tests.support.server_process import REPOSITORY, ServerProcess
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

SECONDS = 60
RELOADED, NOT_RELOADED = '"certificate_reloaded"', '"certificate_not_reloaded"'
TOKEN = "a token that nobody else shall see"


@pytest.fixture
def authority(tmp_path: Path) -> OwnAuthority:
    authority = OwnAuthority(tmp_path / "pki")
    authority.issue("server")
    return authority


def secure_server(make_server: ServerMaker, authority: OwnAuthority, *options: str) -> ServerProcess:
    server = make_server("--pki", str(authority.directory), *options, authority=authority.ca_file)
    return server.start()


def test_the_api_by_https(make_server: ServerMaker, authority: OwnAuthority) -> None:
    server = secure_server(make_server, authority)
    assert f"listens on https://127.0.0.1:{server.port}" in server.output()
    with acklog.Client(server.base_url, ca_file=str(authority.ca_file)) as client:
        client.send("orders", {"order": 1})
        [message] = client.receive("orders", wait_s=5)
        assert message.body == {"order": 1}
        client.ack(message)
    assert server.request("GET", "/docs").status == 200
    assert (
        'acklog_tls_certificate_not_after_timestamp_seconds{use="http"}'
        in server.request("GET", "/metrics").content.decode()
    )
    server.stop()


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
@pytest.mark.parametrize("hosts", [LOOPBACK, ("queue.example.org",)], ids=lambda each: each[0])
def test_what_is_printed_to_try_it_works(tmp_path: Path, make_server: ServerMaker, hosts: tuple[str, ...]) -> None:
    authority = OwnAuthority(tmp_path / "own pki")
    authority.issue("server", hosts=hosts)
    # Its certificate may not be for the address by which a test would ask whether it is ready.
    options = ("--pki", str(authority.directory), "--allowed-hosts", "queue.example.org")
    server = make_server(*options, authority=authority.ca_file)
    server.launch()
    wait_until(lambda: "/ack" in server.output(), seconds=SECONDS, what="a server")
    send, receive, _ = [line for line in server.output().splitlines() if line.startswith("  curl ")]
    for line in (send, receive):
        ran = subprocess.run(line, shell=True, capture_output=True, timeout=SECONDS, check=False)
        assert (ran.returncode, ran.stderr) == (0, b""), line
    assert json.loads(ran.stdout)["messages"][0]["body"] == {"order": 1}


def test_http_is_told_that_it_is_https(make_server: ServerMaker, authority: OwnAuthority) -> None:
    server = secure_server(make_server, authority)
    with server.open_connection() as clear:
        clear.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while part := clear.recv(65536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"code":"TLS_REQUIRED"' in answer
    with pytest.raises(acklog.AcklogError, match="https"), acklog.Client(f"http://127.0.0.1:{server.port}") as client:
        client.send("orders", 1)


def test_both_on_one_port_while_clients_change_over(make_server: ServerMaker, authority: OwnAuthority) -> None:
    server = secure_server(make_server, authority, "--tls-accept-clear")
    with acklog.Client(f"http://127.0.0.1:{server.port}") as client:
        client.send("orders", 1)
    with acklog.Client(server.base_url, ca_file=str(authority.ca_file)) as client:
        assert [each.body for each in client.receive("orders", wait_s=5)] == [1]


# --- new certificates ------------------------------------------------------------------------------------------------


def serial_of(server: ServerProcess, authority: OwnAuthority) -> str:
    context = ssl.create_default_context(cafile=str(authority.ca_file))
    with (
        server.open_connection() as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        certificate = connection.getpeercert()
        assert certificate is not None
        return str(certificate["serialNumber"])


def test_new_certificates_are_taken_while_it_is_used(make_server: ServerMaker, authority: OwnAuthority) -> None:
    server = secure_server(make_server, authority, "--tls-check-interval-ms", "100")
    with (
        acklog.Client(server.base_url, ca_file=str(authority.ca_file)) as client,
        client.producer("orders") as producer,
    ):
        deliveries = [producer.send(0)]
        for round_number in range(1, 4):
            before = serial_of(server, authority)
            authority.issue("server")
            while serial_of(server, authority) == before:
                deliveries.append(producer.send(round_number))
                client.send("orders", round_number)
        assert all(delivery.result(SECONDS).offset is not None for delivery in deliveries)
    assert server.output().count(RELOADED) == 3
    assert NOT_RELOADED not in server.output()


def test_a_hang_up_has_the_files_looked_at(make_server: ServerMaker, authority: OwnAuthority) -> None:
    server = secure_server(make_server, authority, "--tls-check-interval-ms", "86400000")
    before = serial_of(server, authority)
    authority.issue("server")
    server.signal(signal.SIGHUP)
    wait_until(lambda: RELOADED in server.output(), seconds=SECONDS, what="the new certificate")
    assert serial_of(server, authority) != before


def test_files_that_cannot_be_used_leave_what_there_was_and_are_told_once(
    make_server: ServerMaker, authority: OwnAuthority
) -> None:
    server = secure_server(make_server, authority, "--tls-check-interval-ms", "100")
    before = serial_of(server, authority)
    key = authority.directory / "server-key.pem"
    good = key.read_bytes()
    key.write_bytes(Path(authority.issue("client-other").key).read_bytes())

    def failures() -> float:
        text = server.request("GET", "/metrics").content.decode()
        return next(
            float(line.split()[-1])
            for line in text.splitlines()
            if line.startswith('acklog_tls_reload_failures_total{use="http"}')
        )

    wait_until(lambda: failures() >= 5, seconds=SECONDS, what="looks at the wrong files")
    assert serial_of(server, authority) == before
    assert server.output().count(NOT_RELOADED) == 1
    key.write_bytes(good)
    authority.issue("server")
    wait_until(lambda: serial_of(server, authority) != before, seconds=SECONDS, what="the next certificate")


# --- secrecy ---------------------------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.parametrize("is_secure", [True, False])
async def test_whoever_listens_reads_no_body_and_no_token(
    make_server: ServerMaker, authority: OwnAuthority, tmp_path: Path, is_secure: bool
) -> None:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(f'[[tokens]]\nname = "orders"\ntoken = "{TOKEN.replace(" ", "-")}"\nscopes = ["read", "write"]\n')
    options = ("--tokens-file", str(tokens))
    server = secure_server(make_server, authority, *options) if is_secure else make_server(*options).start()
    async with RecordingProxy(server.port) as link:
        url = f"{'https' if is_secure else 'http'}://{link.endpoint}"
        ca_file = str(authority.ca_file) if is_secure else None
        async with acklog.AsyncClient(url, token=TOKEN.replace(" ", "-"), ca_file=ca_file) as client:
            await client.send("orders", "the salary of the chairman", key="chairman-1")
            [message] = await client.receive("orders", wait_s=5)
            await client.ack(message)
        assert len(link.seen) > 500
        for secret in (b"salary", b"chairman-1", TOKEN.replace(" ", "-").encode(), message.receipt.encode()):
            assert (secret in link.seen) is not is_secure


# --- wrong starts ----------------------------------------------------------------------------------------------------


def refusal(tmp_path: Path, *arguments: str, exit_code: int) -> str:
    free = ("--port", "0") if arguments[0] == "serve" else ("--http", "127.0.0.1:0")
    run = subprocess.run(
        [sys.executable, "-m", "acklog.command", *arguments, *free, "--data-dir", str(tmp_path / "data")],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert run.returncode == exit_code, run
    assert "Traceback" not in run.stderr
    return run.stderr


def test_files_that_cannot_be_right_end_the_start(authority: OwnAuthority, tmp_path: Path) -> None:
    """With an exit code by which a supervisor tries again: somebody may be renewing them."""
    pki = str(authority.directory)
    certificate, key = f"{pki}/server.pem", f"{pki}/server-key.pem"
    refused = partial(refusal, tmp_path, exit_code=FAILED)
    assert "server-key.pem cannot be read: No such file" in refused(
        "serve", "--tls-certificate-file", certificate, "--tls-key-file", f"{pki}/no/server-key.pem"
    )
    other = authority.issue("client-other").key
    assert "cannot be used together: key values mismatch" in refused(
        "serve", "--tls-certificate-file", certificate, "--tls-key-file", other
    )
    assert "node-1.pem cannot be read" in refused("node", "--id", "1", "--pki", pki)
    authority.issue("server", age_days=91)
    assert "server.pem has ended" in refused("serve", "--tls-certificate-file", certificate, "--tls-key-file", key)
    first = authority.issue("node-1")
    other_node = ("--peer-certificate-file", first.certificate, "--peer-key-file", first.key)
    assert "node-1.pem is that of node 1, and this is node 4" in refused(
        "node", "--id", "4", *other_node, "--peer-ca-file", first.authorities
    )
    assert not (tmp_path / "data").exists()


def test_settings_that_cannot_be_right_end_it_for_good(authority: OwnAuthority, tmp_path: Path) -> None:
    certificate = ("--tls-certificate-file", f"{authority.directory}/server.pem")
    refused = partial(refusal, tmp_path, "serve", *certificate, exit_code=USAGE)
    assert "tls_certificate_file needs tls_key_file" in refused()
    assert "it may be none, optional or required" in refused(
        "--tls-key-file", f"{authority.directory}/server-key.pem", "--tls-client-certificates", "maybe"
    )
    assert not (tmp_path / "data").exists()


def test_a_node_is_not_offered_to_the_network_by_mistake(tmp_path: Path) -> None:
    listening = ("--listen", "0.0.0.0:0", "--advertise", "10.0.0.1:7000")
    text = refusal(tmp_path, "node", "--id", "1", *listening, exit_code=USAGE)
    assert "--peer-tls require" in text
    assert "--insecure" in text
    assert not (tmp_path / "data").exists()
