"""The server process: uvicorn around the gateway, with an orderly start and an orderly stop."""

import asyncio
import gc
import ipaddress
import signal
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial

import structlog
import uvicorn
import uvloop
from uvicorn.server import HANDLED_SIGNALS

from app.app import create_server_app
from app.auth.tokens import TokenTable
from app.embedded import EmbeddedServer, start_embedded
from app.settings import Settings, SettingsError
from app.single_send_protocol import make_server_protocol
from cluster.runtime import SteadyClock, SystemEntropy
from cluster.sqlite_store import SqliteStore
from storage.disk.real_disk import RealDisk
from storage.disk.thread_executor import ThreadExecutor
from storage.log.data_directory import read_meta
from storage.node.settings import NodeSettings

logger = structlog.get_logger(__name__)

COORDINATION_FILE = "coordination.sqlite"
IO_THREADS = 4

# An I/O thread that has finished an fdatasync needs the GIL to say so; at the default of 5 ms a busy event loop makes
# every send wait for it (p99 5.8 ms against 2.1 ms, measured with 64 connections).
SWITCH_INTERVAL_SECONDS = 5e-5


class AcklogServer(uvicorn.Server):
    """Tells the embedded server when a stop begins, so that long polls end before uvicorn waits for them."""

    def __init__(self, config: uvicorn.Config, embedded: EmbeddedServer) -> None:
        super().__init__(config)
        self._embedded = embedded

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            _print_welcome(self._embedded.gateway.settings, _bound_port(self))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._embedded.begin_shutdown()
        await super().shutdown(sockets)
        await self._embedded.close()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """uvicorn's raises the signal once more behind an orderly stop, which would make the exit code a failure."""
        handlers = {number: signal.signal(number, self.handle_exit) for number in HANDLED_SIGNALS}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)


def check_exposure(settings: Settings) -> None:
    """Refuse to offer an open queue to the network by mistake. Raises SettingsError."""
    if settings.tokens_file or settings.insecure or is_loopback(settings.host):
        return
    raise SettingsError(
        f"--host {settings.host} is reachable from other machines and there is no --tokens-file: anybody could read "
        "and write. Give a tokens file, listen on 127.0.0.1, or say --insecure if that is what you want."
    )


def bind(settings: Settings) -> socket.socket:
    """The address, taken before anything is touched in the data directory. Raises SettingsError."""
    listener = socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise SettingsError(
            f"Cannot listen on {settings.host}:{settings.port}: {error.strerror or error}. Give another --host or "
            "--port (--port 0 takes a free one)."
        ) from None
    return listener


def is_loopback(host: str) -> bool:
    """Whether `host` is an address of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def serve(settings: Settings, node_settings: NodeSettings) -> None:
    """Run until SIGINT or SIGTERM. Raises what makes a start impossible."""
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    check_exposure(settings)
    listener = bind(settings)
    tokens = TokenTable.load(settings.tokens_file) if settings.tokens_file else None
    disk = RealDisk(settings.data_dir)
    disk.lock("lock")
    io = ThreadExecutor(threads=IO_THREADS, name="acklog-io")
    await io.run(partial(read_meta, disk))  # a directory of a newer version is refused before anything is changed
    clock = SteadyClock()
    store = await SqliteStore.open(
        f"{settings.data_dir}/{COORDINATION_FILE}",
        blocking=ThreadExecutor(threads=1, name="acklog-sqlite"),
        clock=clock,
    )
    embedded = await start_embedded(
        store=store,
        disk=disk,
        io=io,
        clock=clock,
        entropy=SystemEntropy(),
        settings=settings,
        node_settings=node_settings,
        tokens=tokens,
    )
    application = create_server_app(embedded.gateway)
    config = uvicorn.Config(
        application.asgi,
        host=settings.host,
        port=settings.port,
        http=make_server_protocol(settings, application.single_sends),
        loop="uvloop",
        ws="none",
        proxy_headers=False,  # nobody asks for a client's address
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=4096,
        timeout_keep_alive=settings.keep_alive_ms // 1000,
        timeout_graceful_shutdown=30,
    )
    calm_garbage_collection()
    await AcklogServer(config, embedded).serve(sockets=[listener])


def calm_garbage_collection() -> None:
    """Requests make many short-lived objects and hardly a cycle: collecting them over and over, the loaded modules
    included, takes a fifth of a send's time (measured with singles, 64 connections)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def run(settings: Settings, node_settings: NodeSettings) -> None:
    """Serve on an event loop of its own (uvloop)."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings, node_settings))


def _bound_port(server: uvicorn.Server) -> int:
    return int(server.servers[0].sockets[0].getsockname()[1])


def _print_welcome(settings: Settings, port: int) -> None:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{host}:{port}"
    authorization = " -H 'Authorization: Bearer TOKEN'" if settings.tokens_file else ""
    lines = [
        f"Acklog listens on {url} (documentation: {url}/docs)",
        f"Acklog stores in  {settings.data_dir}",
        "",
        "Try it:",
        f"""  curl -s{authorization} {url}/messages -d '{{"queue": "orders", "body": {{"order": 1}}}}'""",
        f"""  curl -s{authorization} '{url}/messages?queue=orders&waitSeconds=5'""",
        f"""  curl -s{authorization} {url}/ack -d '{{"receipt": "PASTE THE RECEIPT HERE"}}'""",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
