"""A broker's process: begun, waited for until it takes connections, ended."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

from loadtests.load import LoadFailedError

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
_TRY_S = 0.1


@asynccontextmanager
async def broker_process(
    command: Sequence[str],
    port: int,
    log: Path,
    *,
    environment: Mapping[str, str] | None = None,
    user: str | None = None,
) -> AsyncIterator[int]:
    """Its pid. Raises LoadFailedError where it does not start."""
    with log.open("wb") as output:
        process = await _begin(command, output, log.parent, environment or {}, user)
    try:
        await _wait_for(port, process, log)
        yield process.pid
    finally:
        await _end(process)


async def run_once(command: Sequence[str], log: Path, *, user: str | None = None) -> None:
    """Raises LoadFailedError."""
    with log.open("ab") as output:
        process = await _begin(command, output, log.parent, {}, user)
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            await process.wait()
    except TimeoutError:
        raise LoadFailedError(f"{command[0]} did not end within {START_TIMEOUT_S:.0f} s") from None
    finally:
        await _end(process)
    if process.returncode != 0:
        raise LoadFailedError(f"{command[0]} failed: {log.read_text(errors='replace')[-300:]}")


async def _begin(
    command: Sequence[str], output: IO[bytes], directory: Path, environment: Mapping[str, str], user: str | None
) -> asyncio.subprocess.Process:
    """Raises LoadFailedError where there is no such program."""
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, **environment},
            user=user,
            cwd=directory,
        )
    except OSError as error:
        raise LoadFailedError(f"{command[0]} cannot be run: {error.strerror}") from None


async def _wait_for(port: int, process: asyncio.subprocess.Process, log: Path) -> None:
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            while process.returncode is None:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(_TRY_S)
                    continue
                writer.close()
                return
    except TimeoutError:
        pass
    raise LoadFailedError(f"nobody listens at port {port}: {log.read_text(errors='replace')[-300:]}")


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(STOP_TIMEOUT_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
