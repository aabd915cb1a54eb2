"""`python -m loadtests.run_load --profile mixed`: the locustfile's users against a server of their own, on a free port
of the loopback and an empty directory. What follows `--` goes to locust."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from examples.server_process import ServerFailedError
from loadtests.bench_server import acklog_server
from loadtests.load_profiles import PROFILES, SECONDS_DEFAULT, SECONDS_MAX, profile_named
from loadtests.plan import Cpus

REPOSITORY = Path(__file__).resolve().parents[1]
LOCUSTFILE = Path(__file__).with_name("locustfile.py")
STOP_TIMEOUT_S = 10  # for what the users still do when the time is up
GRACE_S = 60.0  # until locust has started and ended


def main(
    profile: Annotated[str, typer.Option(help=f"One of {', '.join(PROFILES)}.")] = "mixed",
    seconds: Annotated[int, typer.Option(min=1, max=SECONDS_MAX, help="How long.")] = SECONDS_DEFAULT,
    arguments: Annotated[list[str] | None, typer.Argument(help="More options of locust, such as --users 200.")] = None,
) -> None:
    """The exit code is 0 when every threshold of the profile was kept, and 1 otherwise."""
    try:
        profile_named(profile)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    try:
        code = asyncio.run(_run(profile, seconds, arguments or []))
    except (ServerFailedError, TimeoutError) as error:
        typer.echo(str(error) or f"locust did not end within {GRACE_S:.0f} s after its time", err=True)
        code = 1
    raise typer.Exit(code)


async def _run(profile: str, seconds: int, arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="acklog-load-") as directory:
        async with acklog_server(Path(directory), Cpus(None, None)) as server:
            command = locust_command(profile, server.url, seconds, arguments)
            process = await asyncio.create_subprocess_exec(*command, cwd=REPOSITORY, env=locust_environment(os.environ))
            try:
                async with asyncio.timeout(seconds + GRACE_S):
                    return await process.wait()
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()


def locust_command(profile: str, url: str, seconds: int, arguments: list[str]) -> list[str]:
    command = [sys.executable, "-m", "locust", "--locustfile", str(LOCUSTFILE), "--headless", "--only-summary"]
    command += ["--profile", profile, "--host", url, "--run-time", f"{seconds}s"]
    return [*command, "--stop-timeout", str(STOP_TIMEOUT_S), "--loglevel", "WARNING", *arguments]


def locust_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Without settings of locust, so that the same command always does the same."""
    return {name: value for name, value in environment.items() if not name.startswith("LOCUST_")}


if __name__ == "__main__":
    typer.run(main)
