"""A Kafka broker beside us: one KRaft node with default settings on loopback, from a folder of jars, which
docs/benchmarks.md tells how to get."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from examples.server_process import free_port
from loadtests.broker_process import broker_process, run_once

# A cluster id is 16 bytes in URL-safe base 64; any one will do.
CLUSTER_ID = "YWNrbG9nLWJlbmNoLTE2Yg"
BROKER, CONNECTOR = "broker", "connector"


class KafkaBroker(NamedTuple):
    address: str
    pid: int


def connector_jars(jars: Path) -> str:
    """For `spark.jars`."""
    return ",".join(str(path) for path in sorted((jars / CONNECTOR).glob("*.jar")))


@asynccontextmanager
async def kafka_broker(jars: Path, directory: Path) -> AsyncIterator[KafkaBroker]:
    """Raises LoadFailedError where it does not start."""
    directory.mkdir()
    port, properties = free_port(), directory / "server.properties"
    properties.write_text(_properties(port, free_port(), directory / "logs"))
    java = ["java", "-Xmx1g", "-cp", f"{jars / BROKER}/*"]
    formatting = [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties)]
    await run_once(formatting, directory / "format.log")
    command = [*java, "kafka.Kafka", str(properties)]
    async with broker_process(command, port, directory / "broker.log") as pid:
        yield KafkaBroker(f"127.0.0.1:{port}", pid)


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
