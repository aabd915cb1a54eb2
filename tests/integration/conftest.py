"""Servers for the tests of this folder."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.server_process import ServerProcess

ServerMaker = Callable[..., ServerProcess]


@pytest.fixture(scope="session", autouse=True)
def interrupts_arrive() -> None:
    """What a shell runs in the background ignores SIGINT, and so would every command that a test starts and interrupts:
    a program inherits what is ignored, and not what is handled."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def make_server(tmp_path: Path) -> Iterator[ServerMaker]:
    """Makes a server that is not started yet, on `tmp_path`/data unless a directory is given."""
    with ExitStack() as servers:

        def make(
            *options: str,
            data_directory: Path | None = None,
            environment: dict[str, str] | None = None,
            host: str = "127.0.0.1",
            descriptors: tuple[int, int] | None = None,
            authority: Path | None = None,
        ) -> ServerProcess:
            directory = tmp_path / "data" if data_directory is None else data_directory
            log_path = tmp_path / f"server-{len(made)}.log"
            server = ServerProcess(
                directory,
                log_path,
                options=options,
                environment=environment,
                host=host,
                descriptors=descriptors,
                authority=authority,
            )
            made.append(server)
            servers.callback(server.kill)
            return server

        made: list[ServerProcess] = []
        yield make


@pytest.fixture
def server(make_server: ServerMaker) -> ServerProcess:
    """A running server on an empty data directory."""
    return make_server().start()


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A running server for the tests of one module that do not stop it; each uses topics of its own."""
    directory = tmp_path_factory.mktemp("shared-server")
    with ServerProcess(directory / "data", directory / "server.log") as server:
        yield server
