"""A certificate that has ended lets nobody in, also not by a session that was begun while it was valid."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import uvloop

from cluster.tls.contexts import ClientCertificates
from cluster.tls.tls_listener import OpeningFailure
from tests.integration.tls.echo import HOST, PATIENCE_S, EchoServer, client_context, echo_server
from tests.support.authority import OwnAuthority
from tests.support.own_authority import DAY_MS, NOW_MS

pytestmark = pytest.mark.integration

QUESTION = b"anybody?"
DAYS = 10
END_MS = (NOW_MS // 1000) * 1000 + DAYS * DAY_MS


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def loop_factory(request: pytest.FixtureRequest) -> Callable[[], asyncio.AbstractEventLoop]:
    """The one of the tests, and the one that a server runs on."""
    factory: Callable[[], asyncio.AbstractEventLoop] = request.param
    return factory


@dataclass(frozen=True, slots=True)
class Met:
    """`session` is to be taken up again the next time."""

    is_answered: bool
    is_resumed: bool
    session: ssl.SSLSession | None


def meet(server: EchoServer, context: ssl.SSLContext, session: ssl.SSLSession | None = None) -> Met:
    """With a socket, on another thread: asyncio has no way to take a session up again."""
    with (
        socket.create_connection((HOST, server.port), timeout=PATIENCE_S) as plain,
        context.wrap_socket(plain, server_hostname="localhost", session=session) as connection,
    ):
        is_resumed = bool(connection.session_reused)
        try:
            connection.sendall(QUESTION)
            is_answered = connection.recv(len(QUESTION)) == QUESTION
        except OSError:
            is_answered = False
        return Met(is_answered, is_resumed, connection.session)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("clients", [ClientCertificates.OPTIONAL, ClientCertificates.REQUIRED])
def test_a_session_is_good_for_as_long_as_its_certificate(
    authority: OwnAuthority,
    clients: ClientCertificates,
    version: ssl.TLSVersion,
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    context = client_context(authority, authority.issue("client-orders", days=DAYS))
    context.minimum_version = context.maximum_version = version

    async def run() -> None:
        async with echo_server(authority.issue("server"), clients=clients) as server:
            begun = await asyncio.to_thread(meet, server, context)
            assert (begun.is_answered, begun.is_resumed) == (True, False)
            server.now_ms = END_MS - 1
            again = await asyncio.to_thread(meet, server, context, begun.session)
            assert (again.is_answered, again.is_resumed) == (True, True)
            server.now_ms = END_MS
            ended = await asyncio.to_thread(meet, server, context, again.session)
            assert (ended.is_answered, ended.is_resumed) == (False, True)
            assert await server.refusals(1) == [(OpeningFailure.HANDSHAKE, "certificate has expired")]

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(run())


async def test_who_shows_no_certificate_has_none_that_ends(authority: OwnAuthority) -> None:
    async with echo_server(authority.issue("server"), clients=ClientCertificates.OPTIONAL) as server:
        server.now_ms = END_MS
        assert await server.ask(client_context(authority)) == QUESTION
        assert server.refused == []


@pytest.fixture
def authority(tmp_path_factory: pytest.TempPathFactory) -> OwnAuthority:
    return OwnAuthority(tmp_path_factory.mktemp("pki"))
