"""Who is let in by a listener with TLS, and that it changes its certificates while it serves."""

import asyncio
import shutil
import ssl
import warnings
from pathlib import Path

import pytest

from cluster.tls.contexts import ClientCertificates
from cluster.tls.tls_files import TlsFiles, TlsFilesError
from cluster.tls.tls_listener import OpeningFailure, TlsListenerSettings
from tests.integration.tls.echo import CLEAR_ANSWER, EchoServer, client_context, echo_server
from tests.support.authority import OwnAuthority

pytestmark = [pytest.mark.integration, pytest.mark.asyncio]

STRICT = TlsListenerSettings(takes_clear=False)


@pytest.fixture
def authority(tmp_path: Path) -> OwnAuthority:
    return OwnAuthority(tmp_path / "pki")


async def test_tls_is_spoken_and_clear_is_told_so(authority: OwnAuthority) -> None:
    async with echo_server(authority.issue("server")) as server:
        assert await server.ask(client_context(authority)) == b"anybody?"
        reader, writer = await server.connect(None)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await reader.read() == CLEAR_ANSWER
        writer.close()
        assert [refusal for refusal, _ in await server.refusals(1)] == [OpeningFailure.CLEAR]


async def test_both_are_spoken_where_both_may_be(authority: OwnAuthority) -> None:
    async with echo_server(authority.issue("server"), settings=TlsListenerSettings(takes_clear=True)) as server:
        assert await server.ask(client_context(authority)) == b"anybody?"
        assert await server.ask(None) == b"anybody?"
        assert server.refused == []


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
async def test_old_versions_are_not_spoken(authority: OwnAuthority, version: ssl.TLSVersion) -> None:
    async with echo_server(authority.issue("server")) as server:
        old = client_context(authority)
        old.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            old.minimum_version = version
            old.maximum_version = version
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            await server.ask(old)
        assert [refusal for refusal, _ in await server.refusals(1)] == [OpeningFailure.HANDSHAKE]


@pytest.mark.parametrize("cipher", ["AES128-SHA", "AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-SHA"])
async def test_weak_ciphers_are_not_spoken(authority: OwnAuthority, cipher: str) -> None:
    async with echo_server(authority.issue("server")) as server:
        weak = client_context(authority)
        weak.maximum_version = ssl.TLSVersion.TLSv1_2
        weak.set_ciphers(cipher)
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            await server.ask(weak)


# --- whose certificates --------------------------------------------------------------------------------------------


async def answers(server: EchoServer, context: ssl.SSLContext) -> bool:
    try:
        return await server.ask(context) == b"anybody?"
    except OSError:
        return False


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize(
    ("clients", "let_in"),
    [
        (ClientCertificates.REQUIRED, {"good"}),
        (ClientCertificates.OPTIONAL, {"good", "none"}),
        (ClientCertificates.NONE, {"good", "none", "of another authority", "ended", "not yet"}),
    ],
)
async def test_who_gets_in(
    tmp_path: Path, authority: OwnAuthority, clients: ClientCertificates, let_in: set[str], version: ssl.TLSVersion
) -> None:
    other = OwnAuthority(tmp_path / "other")
    shown: dict[str, TlsFiles | None] = {
        "good": authority.issue("client-good"),
        "none": None,
        "of another authority": other.issue("client-good"),
        "ended": authority.issue("client-ended", age_days=91),
        "not yet": authority.issue("client-early", age_days=-1),
    }
    async with echo_server(authority.issue("server"), clients=clients) as server:
        found = set()
        for name, files in shown.items():
            context = client_context(authority, files)
            context.minimum_version = context.maximum_version = version
            if await answers(server, context):
                found.add(name)
        assert found == let_in
        assert {refusal for refusal, _ in server.refused} <= {OpeningFailure.HANDSHAKE}


async def test_a_server_that_is_not_the_one_that_was_called_is_noticed(authority: OwnAuthority) -> None:
    async with echo_server(authority.issue("server")) as server:
        with pytest.raises(ssl.SSLCertVerificationError):
            await server.connect(client_context(authority), server_hostname="elsewhere.example")


# --- change ----------------------------------------------------------------------------------------------------------


async def serial_of(server: EchoServer, authority: OwnAuthority) -> str:
    _, writer = await server.connect(client_context(authority))
    serial = str(writer.get_extra_info("peercert")["serialNumber"])
    writer.transport.abort()
    return serial


async def test_a_new_certificate_is_shown_to_the_next_and_disturbs_nobody(authority: OwnAuthority) -> None:
    async with echo_server(authority.issue("server")) as server:
        assert server.context.refresh() is False
        reader, writer = await server.connect(client_context(authority))
        before = await serial_of(server, authority)
        authority.issue("server")
        assert server.context.refresh() is True
        assert await serial_of(server, authority) != before
        writer.write(b"still here?")
        assert await reader.readexactly(11) == b"still here?"
        writer.close()


async def test_an_authority_that_is_taken_out_lets_nobody_in_any_more(tmp_path: Path, authority: OwnAuthority) -> None:
    """Which a context could not forget."""
    new = OwnAuthority(tmp_path / "new")
    old_client, new_client = authority.issue("client-old"), new.issue("client-new")
    server_files = authority.issue("server")
    authority.write_trust(new)
    async with echo_server(server_files, clients=ClientCertificates.REQUIRED) as server:
        assert await answers(server, client_context(authority, old_client))
        assert await answers(server, client_context(authority, new_client))
        new_files = new.issue("server", directory=authority.directory)
        shutil.copy(new.ca_file, authority.ca_file)
        assert server.context.refresh() is True
        assert not await answers(server, client_context(new, old_client))
        assert await answers(server, client_context(new, new_client))
        assert new_files.certificate == server_files.certificate


@pytest.mark.parametrize("damage", ["key of another", "no key", "empty certificate", "no authorities", "half a file"])
async def test_files_that_cannot_be_used_change_nothing(authority: OwnAuthority, damage: str) -> None:
    files = authority.issue("server")
    async with echo_server(files, clients=ClientCertificates.OPTIONAL) as server:
        before = await serial_of(server, authority)
        trust = authority.ca_file.read_bytes()
        certificate = Path(files.certificate).read_bytes()
        key = Path(files.key).read_bytes()
        match damage:
            case "key of another":
                Path(files.key).write_bytes(Path(authority.issue("client-other").key).read_bytes())
            case "no key":
                Path(files.key).unlink()
            case "empty certificate":
                Path(files.certificate).write_bytes(b"")
            case "no authorities":
                authority.ca_file.write_bytes(b"\n")
            case "half a file":
                Path(files.certificate).write_bytes(certificate[: len(certificate) // 2])
        with pytest.raises(TlsFilesError, match=r"\.pem"):
            server.context.refresh()
        authority.ca_file.write_bytes(trust)
        Path(files.certificate).write_bytes(certificate)
        assert await serial_of(server, authority) == before
        Path(files.key).write_bytes(key)
        assert server.context.refresh() is False


async def is_ended(reader: asyncio.StreamReader) -> bool:
    """Waits for it. Whoever had something unread is reset."""
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True


# --- limits ----------------------------------------------------------------------------------------------------------


async def test_who_says_nothing_is_let_go(authority: OwnAuthority) -> None:
    settings = TlsListenerSettings(takes_clear=False, handshake_timeout_ms=50)
    async with echo_server(authority.issue("server"), settings=settings) as server:
        reader, silent = await server.connect(None)
        half_reader, half = await server.connect(None)
        half.write(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a hello
        assert [refusal for refusal, _ in await server.refusals(2)] == [OpeningFailure.TIME] * 2
        assert await is_ended(reader)
        assert await is_ended(half_reader)
        assert await server.ask(client_context(authority)) == b"anybody?"
        silent.close()
        half.close()


async def test_where_there_is_no_room_the_slowest_makes_some(authority: OwnAuthority) -> None:
    settings = TlsListenerSettings(takes_clear=False, opening_max=3, patience_ms=20)
    async with echo_server(authority.issue("server"), settings=settings) as server:
        silent = [await server.connect(None) for _ in range(3)]
        assert await server.ask(client_context(authority)) == b"anybody?"
        assert [refusal for refusal, _ in server.refused] == [OpeningFailure.ROOM]
        assert await is_ended(silent[0][0])  # it was the first
        for _, writer in silent:
            writer.close()


async def test_a_crowd_is_let_in(authority: OwnAuthority) -> None:
    """Many at once are no reason to turn anybody away, however few may be opened at a time."""
    settings = TlsListenerSettings(takes_clear=False, opening_max=3, patience_ms=60_000)
    async with echo_server(authority.issue("server"), settings=settings) as server:
        context = client_context(authority)
        assert await asyncio.gather(*(server.ask(context) for _ in range(50))) == [b"anybody?"] * 50
        assert server.refused == []


async def test_who_looks_whether_somebody_listens_is_not_worth_a_word(authority: OwnAuthority) -> None:
    async with echo_server(authority.issue("server")) as server:
        _, writer = await server.connect(None)
        writer.close()
        await writer.wait_closed()
        assert await server.ask(client_context(authority)) == b"anybody?"
        assert server.refused == []


async def test_a_close_lets_go_of_what_is_not_open_yet(authority: OwnAuthority) -> None:
    async with echo_server(authority.issue("server")) as server:
        open_reader, open_writer = await server.connect(client_context(authority))
        silent_reader, silent = await server.connect(None)
        half_reader, half = await server.connect(None)
        half.write(b"\x16\x03\x01\x02\x00\x01")
        open_writer.write(b"!")
        assert await open_reader.readexactly(1) == b"!"
        server.listener.close()
        assert await is_ended(silent_reader)
        assert await is_ended(half_reader)
        open_writer.write(b"still here?")
        assert await open_reader.readexactly(11) == b"still here?"
        for writer in (open_writer, silent, half):
            writer.close()
