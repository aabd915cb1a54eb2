"""Where attacks are judged: an honest client works beside the attacker and must hardly notice.

To add an attack, write `tests/integration/hostile/<what_it_does>.py` with

    async def attack(host: str, port: int) -> None:

which attacks that address with raw asyncio streams until it is cancelled (it may end by itself; an exception fails the
test), bounded in connections and in bytes (100 MiB of its own memory), and beside it `test_<what_it_does>.py` with

    @pytest.mark.parametrize("seconds", DURATIONS)
    def test_it(make_server: ServerMaker, seconds: float) -> None:
        server = make_server().start()
        endure(server, "tests.integration.hostile.<what_it_does>", seconds=seconds)

`endure` measures the honest client in quiet, then during the attack, then after it. It fails unless p99 during the
attack stays below ten times that of quiet, the server's memory below what it had plus `growth_bytes_max`, and the
service is whole within five seconds after; what other tests on the same cores do to one try they hardly do to two, so
there is a second one. `port` is another one to attack than the server's. `make test` runs the
short duration, `make hostile` the long one.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.integration.hostile.honest_client import Experience, HonestClient
from tests.support.server_process import REPOSITORY, ServerProcess

QUIET_SECONDS = 1.5
RECOVERY_SECONDS_MAX = 5.0
TIMES_QUIET_MAX = 10
P99_FLOOR_SECONDS = 0.03
"""A quiet p99 below this is taken as this: beside other tests on the same cores less than that is noise."""
GROWTH_BYTES_MAX = 300 * 1024 * 1024
MEMORY_SAMPLE_SECONDS = 0.1

DURATIONS = [3.0, pytest.param(20.0, marks=pytest.mark.hostile)]


def endure(
    server: ServerProcess,
    module: str,
    *,
    seconds: float,
    port: int | None = None,
    token: str = "",
    growth_bytes_max: int = GROWTH_BYTES_MAX,
) -> None:
    """Run the attack of `module` against a running server for so long; AssertionError where the promises of this
    module's first lines are broken. `token` is the honest client's."""
    for is_last in (False, True):
        try:
            asyncio.run(_endure(server, module, seconds, port or server.port, token, growth_bytes_max))
            return
        except AssertionError:
            if is_last:
                raise


async def _endure(
    server: ServerProcess, module: str, seconds: float, port: int, token: str, growth_bytes_max: int
) -> None:
    async with HonestClient(server.host, server.port, token=token) as client:
        await client.work(0.5)  # the topic is made, the code is warm
        quiet = await client.work(QUIET_SECONDS)
        assert not quiet.failures, quiet.failures[:3]
        p99_max = TIMES_QUIET_MAX * max(quiet.p99_seconds, P99_FLOOR_SECONDS)
        memory_max = server.resident_bytes() + growth_bytes_max
        with _attack(module, server.host, port):
            watching = asyncio.create_task(_largest_memory(server))
            during = await client.work(seconds)
            watching.cancel()
        _check(during, p99_max, "during the attack", server)
        assert (largest := await watching) < memory_max, f"{largest} bytes of memory, at most {memory_max} expected"
    await _check_recovery(server, token, p99_max)


async def _check_recovery(server: ServerProcess, token: str, p99_max: float) -> None:
    """Somebody who comes anew is served within the time, and as well as before."""
    deadline = time.monotonic() + RECOVERY_SECONDS_MAX
    while True:
        async with HonestClient(server.host, server.port, token=token) as client:
            first = Experience()
            await client.round(first)
            if not first.failures:
                _check(await client.work(1.0), p99_max, "after the attack", server)
                return
        assert time.monotonic() < deadline, f"no service after the attack: {first.failures}"
        await asyncio.sleep(0.1)


def _check(experience: Experience, p99_max: float, when: str, server: ServerProcess) -> None:
    p99 = experience.p99_seconds
    assert p99 < p99_max, (
        f"{when} p99 was {p99:.3f} s, at most {p99_max:.3f} s is allowed; "
        f"{len(experience.seconds)} requests, {len(experience.failures)} failed: {experience.failures[:3]}\n"
        + server.output()[-2000:]
    )


async def _largest_memory(server: ServerProcess) -> int:
    """The most resident bytes that were seen until the task is cancelled."""
    largest = 0
    try:
        while True:
            largest = max(largest, server.resident_bytes())
            await asyncio.sleep(MEMORY_SAMPLE_SECONDS)
    except asyncio.CancelledError:
        return largest


@contextmanager
def _attack(module: str, host: str, port: int) -> Iterator[None]:
    arguments = [sys.executable, "-m", "tests.integration.hostile.attacker", module, host, str(port)]
    process = subprocess.Popen(arguments, cwd=REPOSITORY, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield
        _output, errors = process.communicate(timeout=30)  # the end of its input is the end of the attack
        assert process.returncode == 0, errors.decode()[-2000:]
    finally:
        process.kill()
        process.communicate()
