"""The SDK against servers that speak TLS: what is said when they do not understand each other, and certificates that
are renewed while a producer and a consumer work."""

import asyncio
import pickle
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import acklog
from acklog.client import renewed_tls
from acklog.client.catalog_calls import status
from acklog.errors import ConnectionFailed, TlsFailed
from app.pki.authority import Authority
from app.pki.certificate_file import read_certificate
from pyspark_acklog.connection import connection_of
from tests.support.own_authority import DAY_MS, NOW_MS, TlsFilesOf, made_authority, signed, subject
from tests.support.tls_server import answering, tls_served
from tests.support.waiting import poll_until

pytestmark = pytest.mark.integration

CLIENT = subject("client", "orders")
PATIENCE_S = 60
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Files:
    def __init__(self, directory: Path) -> None:
        self.authority = made_authority()
        self.server = TlsFilesOf(directory / "server").trust(self.authority).hold(signed(self.authority))
        self.client = TlsFilesOf(directory / "client").trust(self.authority)

    def hold(self, authority: Authority, *, days: int = 90) -> str:
        """The client's certificate is a new one; its serial number, as ssl has it."""
        pair = signed(authority, CLIENT, days=days)
        self.client.hold(pair)
        return f"{read_certificate(pair[0]).serial:X}".zfill(34)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


async def test_a_server_is_called_by_its_certificate(files: Files, tmp_path: Path) -> None:
    async with tls_served(tmp_path / "data", files.server.server_context()) as server:
        async with acklog.AsyncClient(server.url, ca_file=str(files.client.ca)) as client:
            sent = await client.send("orders", {"n": 1})
            [message] = (await client.receive("orders", wait_s=5)).messages
            assert message.message_id == sent.message_id
        assert set(server.callers) == {None}


async def test_a_server_may_ask_who_calls(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serial = files.hold(files.authority)
    monkeypatch.setenv("ACKLOG_CA_FILE", str(files.client.ca))
    monkeypatch.setenv("ACKLOG_CERTIFICATE_FILE", str(files.client.certificate))
    monkeypatch.setenv("ACKLOG_KEY_FILE", str(files.client.key))
    async with tls_served(tmp_path / "data", files.server.server_context(wants_clients=True)) as server:
        with_thread = acklog.Client(server.url)
        try:
            await asyncio.to_thread(with_thread.send, "orders", 1)
        finally:
            await asyncio.to_thread(with_thread.close)
        assert {each.zfill(34) for each in server.callers if each} == {serial}


async def test_spark_s_workers_are_known(files: Files, tmp_path: Path) -> None:
    files.hold(files.authority)
    options = {"caFile": files.client.ca, "certificateFile": files.client.certificate, "keyFile": files.client.key}
    async with tls_served(tmp_path / "data", files.server.server_context(wants_clients=True)) as server:
        given = {name: str(path) for name, path in options.items()}
        connection = pickle.loads(pickle.dumps(connection_of({"url": server.url, **given}, timeout_s=20)))
        caller = connection.caller()
        try:
            assert (await caller.perform(status("/readyz")))["status"] == "ready"
        finally:
            await caller.close()


async def failure(url: str, *, kind: type[ConnectionFailed] = TlsFailed, **options: Any) -> str:
    async with acklog.AsyncClient(url, retries_max=0, **options) as client:
        with pytest.raises(kind) as failed:
            await client.health()
        assert type(failed.value) is kind
        return failed.value.detail


class TestWhatIsSaid:
    async def test_of_another_authority(self, files: Files) -> None:
        files.client.trust(made_authority())
        async with answering(b"", files.server.server_context()) as port:
            said = await failure(f"https://localhost:{port}", ca_file=str(files.client.ca))
            assert f"https://localhost:{port} shows a certificate that is not trusted" in said
            assert "ca_file, --ca-file or ACKLOG_CA_FILE" in said
            assert "is not trusted" in await failure(f"https://localhost:{port}")

    async def test_of_a_certificate_that_has_ended(self, files: Files) -> None:
        past_ms = NOW_MS - 100 * DAY_MS
        old = made_authority(now_ms=past_ms)
        files.server.hold(signed(old, days=90, now_ms=past_ms))
        files.client.trust(old)
        async with answering(b"", files.server.server_context()) as port:
            said = await failure(f"https://localhost:{port}", ca_file=str(files.client.ca))
            assert "has expired: it has to be renewed there" in said

    async def test_of_a_certificate_that_is_of_tomorrow(self, files: Files) -> None:
        files.server.hold(signed(files.authority, now_ms=NOW_MS + DAY_MS))
        async with answering(b"", files.server.server_context()) as port:
            said = await failure(f"https://localhost:{port}", ca_file=str(files.client.ca))
            assert "not valid yet: compare the clocks" in said

    @pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
    async def test_of_another_name(self, files: Files, host: str) -> None:
        files.server.hold(signed(files.authority, hosts=("queue.example.org",)))
        async with answering(b"", files.server.server_context()) as port:
            said = await failure(f"https://{host}:{port}", ca_file=str(files.client.ca))
            assert "shows a certificate for other names" in said
            assert f"not valid for '{host}'" in said

    async def test_of_a_certificate_for_clients(self, files: Files) -> None:
        files.server.hold(signed(files.authority, CLIENT))
        async with answering(b"", files.server.server_context()) as port:
            said = await failure(f"https://localhost:{port}", ca_file=str(files.client.ca), tls=None)
            assert "not one for servers" in said

    async def test_of_a_server_without_tls(self, files: Files, tmp_path: Path) -> None:
        async with answering(BAD_REQUEST) as port:
            said = await failure(f"https://localhost:{port}", ca_file=str(files.client.ca))
            assert f"speaks no TLS: if it is a server without it, call it by http://localhost:{port}" in said
        async with tls_served(tmp_path / "data", None) as server:
            assert "speaks no TLS" in await failure(server.url, timeout_s=20)

    async def test_of_a_server_with_tls_that_is_called_without(self, files: Files, tmp_path: Path) -> None:
        async with tls_served(tmp_path / "data", files.server.server_context()) as server:
            said = await failure(f"http://localhost:{server.port}", kind=ConnectionFailed)
            assert f"does it speak TLS? Then it is called by https://localhost:{server.port}" in said

    @pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
    async def test_of_a_server_that_asks_who_calls(self, files: Files, tmp_path: Path, version: ssl.TLSVersion) -> None:
        context = files.server.server_context(wants_clients=True)
        context.maximum_version = version
        kind = TlsFailed if version == ssl.TLSVersion.TLSv1_2 else ConnectionFailed
        async with tls_served(tmp_path / "data", context) as server:
            said = await failure(server.url, kind=kind, ca_file=str(files.client.ca))
            assert "certificate_file and key_file, --certificate-file and --key-file" in said

    async def test_no_such_guess_of_a_server_that_has_answered(self, files: Files, tmp_path: Path) -> None:
        async with tls_served(tmp_path / "data", files.server.server_context()) as server:
            client = acklog.AsyncClient(server.url, ca_file=str(files.client.ca), retries_max=0)
            await client.health()
        with pytest.raises(ConnectionFailed) as failed:
            await client.health()
        assert "certificate" not in failed.value.detail
        await client.close()


async def test_everything_is_renewed_while_a_producer_and_a_consumer_work(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First whom to trust, on both sides, then who one is: no send fails, and nothing is received twice or not at all.
    In the end everything goes by the new authority alone."""
    monkeypatch.setattr(renewed_tls, "LOOK_INTERVAL_MS", 20)
    old, new = files.authority, made_authority()
    files.hold(old)
    context = files.server.server_context(wants_clients=True)
    names: dict[str, Any] = {
        "ca_file": str(files.client.ca),
        "certificate_file": str(files.client.certificate),
        "key_file": str(files.client.key),
    }
    work = Work()
    async with (
        tls_served(tmp_path / "data", context) as server,
        acklog.AsyncClient(server.url, **names) as client,
    ):
        working = asyncio.create_task(work.go_on(client))
        await work.progress(50)
        files.client.trust(new, old)
        files.server.trust(new, old)
        context.load_verify_locations(files.server.ca)
        await work.progress(50)
        serial = files.hold(new)
        files.server.hold(signed(new))
        context.load_cert_chain(files.server.certificate, files.server.key)
        await until(lambda: any(each and each.zfill(34) == serial for each in server.callers), "the new certificate")
        files.client.trust(new)
        await work.progress(50)
        connections = len(server.callers)
        await work.progress(50)
        assert len(server.callers) - connections < 20  # connections are kept, not made for each request
        work.is_over.set()
        await working
    assert sorted(work.received) == list(range(work.sent))


class Work:
    """A producer that sends one number after the other, and a consumer that takes them."""

    def __init__(self) -> None:
        self.sent = 0
        self.received: list[int] = []
        self.is_over = asyncio.Event()
        self._all_sent = asyncio.Event()

    async def go_on(self, client: acklog.AsyncClient) -> None:
        await client.topics.create("numbers", partitions=2)
        async with client.producer("numbers", linger_ms=0) as producer:
            receiving = asyncio.create_task(self._receive(client))
            while not self.is_over.is_set():
                delivery = await producer.send(self.sent)
                await delivery  # raises what has failed
                self.sent += 1
            self._all_sent.set()  # not with `is_over`, when one more may be under way
            await receiving

    async def _receive(self, client: acklog.AsyncClient) -> None:
        while not self._all_sent.is_set() or len(self.received) < self.sent:
            received = await client.receive("numbers", max_messages=100, wait_s=1)
            self.received += [message.body for message in received.messages]
            if received.messages:
                await client.ack(received.messages)

    async def progress(self, count: int) -> None:
        enough = len(self.received) + count
        await until(lambda: len(self.received) >= enough, f"{enough} messages")


async def until(condition: Callable[[], bool], what: str) -> None:
    async def holds() -> bool:
        return condition()

    await poll_until(holds, seconds=PATIENCE_S, what=what)
