"""The server process: uvicorn around the gateway, with an orderly start and an orderly stop."""

import asyncio
import sys
from functools import partial

import uvloop

from app.auth.tokens import TokenTable
from app.embedded import start_embedded
from app.gateway_server import OTHER_ADDRESS, check_exposure, gateway_config
from app.http_server import HttpServer, bind, calm_garbage_collection, url_of
from app.process_constants import COORDINATION_FILE, IO_THREADS, SWITCH_INTERVAL_SECONDS
from app.settings import Settings
from cluster.runtime import SteadyClock, SystemEntropy
from cluster.sqlite_store import SqliteStore
from storage.disk.real_disk import RealDisk
from storage.disk.thread_executor import ThreadExecutor
from storage.log.data_directory import read_meta
from storage.log.directory_role import check_embedded
from storage.node.settings import NodeSettings


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
