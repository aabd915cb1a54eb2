"""A Kafka broker beside us: one KRaft node with default settings on loopback, from a folder of jars, which
docs/benchmarks.md tells how to get."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from examples.server_process import free_port
from loadtests.load import LoadFailedError

# A cluster id is 16 bytes in URL-safe base 64; any one will do.
CLUSTER_ID = "YWNrbG9nLWJlbmNoLTE2Yg"
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
BROKER, CONNECTOR = "broker", "connector"


def connector_jars(jars: Path) -> str:
    """For `spark.jars`."""
    return ",".join(str(path) for path in sorted((jars / CONNECTOR).glob("*.jar")))


@asynccontextmanager
async def kafka_broker(jars: Path, directory: Path) -> AsyncIterator[str]:
    """Its address. Raises LoadFailedError where it does not start."""
    directory.mkdir()
    port, properties = free_port(), directory / "server.properties"
    properties.write_text(_properties(port, free_port(), directory / "logs"))
    java = ["java", "-Xmx1g", "-cp", f"{jars / BROKER}/*"]
    formatting = [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties)]
    log = directory / "broker.log"
    with log.open("wb") as output:
        done = await asyncio.to_thread(
            subprocess.run, formatting, stdout=output, stderr=subprocess.STDOUT, check=False, timeout=START_TIMEOUT_S
        )
        if done.returncode != 0:
            raise LoadFailedError(f"Kafka's storage could not be formatted: {log.read_text()[-300:]}")
        process = await asyncio.create_subprocess_exec(
            *java, "kafka.Kafka", str(properties), stdout=output, stderr=subprocess.STDOUT
        )
    try:
        await _wait_for(port, process, log)
        yield f"127.0.0.1:{port}"
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                async with asyncio.timeout(STOP_TIMEOUT_S):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


def _properties(port: int, controller_port: int, logs: Path) -> str:
    """Defaults, but for what one node alone needs."""
    addresses = f"PLAINTEXT://127.0.0.1:{port}"
    return "\n".join(
        (
            "process.roles=broker,controller",
            "node.id=1",
            f"controller.quorum.voters=1@127.0.0.1:{controller_port}",
            f"listeners={addresses},CONTROLLER://127.0.0.1:{controller_port}",
            f"advertised.listeners={addresses}",
            "controller.listener.names=CONTROLLER",
            "inter.broker.listener.name=PLAINTEXT",
            f"log.dirs={logs}",
            "num.partitions=4",
            "offsets.topic.replication.factor=1",
            "transaction.state.log.replication.factor=1",
            "transaction.state.log.min.isr=1",
            "",
        )
    )


async def _wait_for(port: int, process: asyncio.subprocess.Process, log: Path) -> None:
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            while process.returncode is None:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.2)
                    continue
                writer.close()
                return
    except TimeoutError:
        raise LoadFailedError(
            f"Kafka did not listen within {START_TIMEOUT_S:.0f} s: {log.read_text()[-300:]}"
        ) from None
    raise LoadFailedError(f"Kafka ended with {process.returncode}: {log.read_text()[-300:]}")
