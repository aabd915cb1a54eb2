"""What encryption at rest costs: `python -m loadtests.encryption_costs` starts a server that stores in clear and one
that encrypts, and lets the same client work with them by turns; then it reads both logs through."""

import argparse
import asyncio
import base64
import statistics
import tempfile
from pathlib import Path

import uvloop
from rich.console import Console

from acklog.wire.log_page import MEDIA_TYPE
from loadtests.http_connection import connect, make_request
from loadtests.process_usage import usage_of
from loadtests.two_servers import BATCHES, PARTITIONS, Rate, Server, compare, make_topics
from tests.support.server_process import ServerProcess

READ_BYTES = 4 * 1024 * 1024


async def measure(clear: Server, encrypted: Server, *, rounds: int, seconds: float) -> None:
    await compare(clear, encrypted, rounds=rounds, seconds=seconds)
    found = [(await read_through(clear, seconds), await read_through(encrypted, seconds)) for _ in range(rounds)]
    ratio = statistics.median(other.per_s / one.per_s for one, other in found)
    of_processor = statistics.median(other.per_cpu_s / one.per_cpu_s for one, other in found)
    mib_s = statistics.median(one.per_s for one, _ in found) / (1 << 20)
    Console().print(
        f"raw batches read: {mib_s:,.0f} MiB/s in clear, {ratio:.2f} of that encrypted, "
        f"{of_processor:.2f} by the server's processor"
    )


async def read_through(server: Server, seconds: float) -> Rate:
    """Bytes of the batches' log, again and again from its begin."""
    [connection] = await connect(server.process.port, 1)
    loop = asyncio.get_running_loop()
    begun_s, used_s = loop.time(), usage_of(server.process.pid).cpu_s
    done = number = 0
    offsets = [0] * PARTITIONS
    while loop.time() < begun_s + seconds:
        partition = number % PARTITIONS
        path = f"/topics/{BATCHES}/partitions/{partition}/records?offset={offsets[partition]}&maxBytes={READ_BYTES}"
        answer = await connection.request(make_request("GET", path, accept=MEDIA_TYPE))
        assert answer.status == 200, answer.body[:300]
        done += len(answer.body)
        offsets[partition] = int(answer.header("x-acklog-next-offset")) if answer.body else 0
        number += 1
    taken_s, used_s = loop.time() - begun_s, usage_of(server.process.pid).cpu_s - used_s
    connection.close()
    return Rate(done / taken_s, done / used_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each turn")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        (directory / "master.key").write_bytes(base64.b64encode(bytes(range(32))))
        options = ("--master-key-file", str(directory / "master.key"), "--encrypt-topics")
        with (
            ServerProcess(directory / "clear", directory / "clear.log") as clear,
            ServerProcess(directory / "encrypted", directory / "encrypted.log", options=options) as encrypted,
        ):
            make_topics(clear)
            make_topics(encrypted)
            uvloop.run(
                measure(
                    Server("clear", clear),
                    Server("encrypted", encrypted),
                    rounds=arguments.rounds,
                    seconds=arguments.seconds,
                )
            )


if __name__ == "__main__":
    main()
