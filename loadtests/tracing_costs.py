"""What tracing costs: `python -m loadtests.tracing_costs` starts a server that traces nothing and one that begins a
trace with so many of 1,000 requests and exports it, and lets the same client work with them by turns."""

import argparse
import asyncio
import tempfile
from pathlib import Path

from aiohttp import web

from loadtests.two_servers import Server, compare, make_topics
from tests.support.server_process import ServerProcess


async def accept(request: web.Request) -> web.Response:
    """What a collector costs is not the server's: what comes is read and forgotten."""
    await request.read()
    return web.Response(content_type="application/x-protobuf")


async def collector() -> tuple[web.AppRunner, str]:
    """Running, and its URL."""
    application = web.Application()
    application.router.add_post("/v1/traces", accept)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    return runner, f"http://{host}:{port}"


async def measure(directory: Path, *, per_mille: int, rounds: int, seconds: float) -> None:
    runner, url = await collector()
    options = ("--otlp-endpoint", url, "--trace-sample-per-mille", str(per_mille))
    off = ServerProcess(directory / "off", directory / "off.log")
    on = ServerProcess(directory / "on", directory / "on.log", options=options)
    try:
        for server in (off, on):
            await asyncio.to_thread(server.start)
            await asyncio.to_thread(make_topics, server)
        await compare(Server("off", off), Server(f"{per_mille} of 1,000", on), rounds=rounds, seconds=seconds)
    finally:
        off.kill()
        on.kill()
        await runner.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-mille", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each turn")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(
            measure(
                Path(scratch),
                per_mille=arguments.per_mille,
                rounds=arguments.rounds,
                seconds=arguments.seconds,
            )
        )


if __name__ == "__main__":
    main()
