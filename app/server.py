"""The server process: uvicorn around the gateway, with an orderly start and an orderly stop."""

import asyncio
import ipaddress
import sys
from functools import partial

import uvicorn
import uvloop

from app.app import create_server_app
from app.auth.tokens import TokenTable
from app.dependencies import Gateway
from app.embedded import start_embedded
from app.http_server import BACKLOG, HttpServer, bind, calm_garbage_collection, url_of
from app.settings import Settings, SettingsError
from app.single_send_protocol import make_server_protocol
from cluster.runtime import SteadyClock, SystemEntropy
from cluster.sqlite_store import SqliteStore
from storage.disk.real_disk import RealDisk
from storage.disk.thread_executor import ThreadExecutor
from storage.log.data_directory import read_meta
from storage.log.directory_role import check_embedded
from storage.node.settings import NodeSettings

COORDINATION_FILE = "coordination.sqlite"
IO_THREADS = 4
GRACE_SECONDS = 30
OTHER_ADDRESS = "Give another --host or --port (--port 0 takes a free one)."

# An I/O thread that has finished an fdatasync needs the GIL to say so; at the default of 5 ms a busy event loop makes
# every send wait for it (p99 5.8 ms against 2.1 ms, measured with 64 connections).
SWITCH_INTERVAL_SECONDS = 5e-5


def check_exposure(settings: Settings) -> None:
    """Refuse to offer an open queue to the network by mistake. Raises SettingsError."""
    if settings.tokens_file or settings.insecure or is_loopback(settings.host):
        return
    raise SettingsError(
        f"--host {settings.host} is reachable from other machines and there is no --tokens-file: anybody could read "
        "and write. Give a tokens file, listen on 127.0.0.1, or say --insecure if that is what you want."
    )


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
    listener = bind(settings.host, settings.port, what_to_do=OTHER_ADDRESS)
    tokens = TokenTable.load(settings.tokens_file) if settings.tokens_file else None
    disk = RealDisk(settings.data_dir)
    disk.lock("lock")
    io = ThreadExecutor(threads=IO_THREADS, name="acklog-io")
    await io.run(partial(read_meta, disk))  # a directory of a newer version is refused before anything is changed
    await io.run(partial(check_embedded, disk))
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

    async def begin_shutdown() -> None:
        embedded.begin_shutdown()

    server = HttpServer(
        gateway_config(embedded.gateway),
        on_listening=partial(_print_welcome, settings),
        before_stop=begin_shutdown,
        after_stop=embedded.close,
    )
    calm_garbage_collection()
    await server.serve(sockets=[listener])


def gateway_config(gateway: Gateway) -> uvicorn.Config:
    """How uvicorn serves a gateway, embedded or in a cluster."""
    settings = gateway.settings
    application = create_server_app(gateway)
    return uvicorn.Config(
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
        backlog=BACKLOG,
        timeout_keep_alive=settings.keep_alive_ms // 1000,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def run(settings: Settings, node_settings: NodeSettings) -> None:
    """Serve on an event loop of its own (uvloop)."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings, node_settings))


def _print_welcome(settings: Settings, port: int) -> None:
    url = url_of(settings.host, port)
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
