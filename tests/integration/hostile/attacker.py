"""Runs one attack in a process of its own, until its standard input ends.

`python -m tests.integration.hostile.attacker MODULE HOST PORT`: MODULE has an `async def attack(host, port)`.
"""

import asyncio
import contextlib
import importlib
import resource
import sys


async def _run(module: str, host: str, port: int) -> None:
    attack = asyncio.ensure_future(importlib.import_module(module).attack(host, port))
    try:
        await asyncio.to_thread(sys.stdin.read)
        if attack.done():
            attack.result()  # an attack that broke down has shown nothing
    finally:
        attack.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await attack


def main() -> None:
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    module, host, port = sys.argv[1:]
    asyncio.run(_run(module, host, int(port)))


if __name__ == "__main__":
    main()
