"""`acklog mirror run` as a process of its own, which a test may kill."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from acklog import AsyncClient
from tests.support.server_process import REPOSITORY

COMMAND = (sys.executable, "-m", "acklog.command", "mirror", "run")
INTERVALS = ("--position-interval", "0.3", "--checkpoint-interval", "0.3", "--interval", "0.3")


def environment() -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ACKLOG_")}
    return {**inherited, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"}


class MirrorProcess:
    """Copies from one URL to the other. What it prints goes to `log_path`."""

    def __init__(self, source_url: str, target_url: str, *arguments: str, log_path: Path) -> None:
        with log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [*COMMAND, *arguments, "--source", source_url, "--server", target_url, "--json", *INTERVALS],
                env=environment(),
                cwd=REPOSITORY,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    async def ended(self) -> int:
        """Its exit code."""
        return await asyncio.to_thread(self.process.wait)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


async def bodies_of(client: AsyncClient, topic: str, partition: int) -> list[object]:
    """All that the partition holds, in its order."""
    found: list[object] = []
    offset = 0
    while True:
        page = await client.records(topic, partition, offset=offset)
        found += [message.body for message in page.messages]
        if page.next_offset >= page.high_watermark:
            return found
        offset = page.next_offset
