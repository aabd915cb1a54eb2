"""The brokers of the comparison, each told to sync before it answers, on loopback and in a directory of its own."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from examples.server_process import acklog_command, free_port
from loadtests.broker_process import broker_process, run_once
from loadtests.kafka_broker import kafka_broker
from loadtests.peers.peer import Peer, RunningPeer

_LOOPBACK = "127.0.0.1"
_POSTGRES_PROGRAMS = Path("/usr/lib/postgresql/15/bin")
_RABBIT_PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_CONNECTIONS_MAX = 600


def all_peers(kafka_jars: Path | None) -> list[Peer]:
    """Kafka is among them where its jars are there."""
    peers = [
        Peer("acklog", "Acklog", _acklog),
        Peer("rabbitmq", "RabbitMQ, quorum queue", _rabbit),
        Peer("redis", "Redis, AOF always", _redis),
        Peer("postgres", "Postgres, SKIP LOCKED", _postgres),
        Peer("nats", "NATS, sync always", _nats),
    ]
    if kafka_jars is not None:
        peers.append(Peer("kafka", "Kafka, flush of each", partial(_kafka, kafka_jars), settles=False))
    return peers


@asynccontextmanager
async def _acklog(directory: Path, _programs: Path) -> AsyncIterator[RunningPeer]:
    port = free_port()
    command = acklog_command(port=port, data_dir=directory / "data")
    async with broker_process(command, port, directory / "log") as pid:
        yield RunningPeer(f"{_LOOPBACK}:{port}", pid)


@asynccontextmanager
async def _redis(directory: Path, _programs: Path) -> AsyncIterator[RunningPeer]:
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", _LOOPBACK, "--dir", str(directory)]
    command += ["--appendonly", "yes", "--appendfsync", "always", "--save", ""]
    async with broker_process(command, port, directory / "log") as pid:
        yield RunningPeer(f"{_LOOPBACK}:{port}", pid)


@asynccontextmanager
async def _nats(directory: Path, programs: Path) -> AsyncIterator[RunningPeer]:
    port = free_port()
    settings = directory / "nats.conf"
    settings.write_text(
        f'listen: "{_LOOPBACK}:{port}"\njetstream {{ store_dir: "{directory / "data"}", sync_interval: always }}\n'
    )
    async with broker_process([str(programs / "nats-server"), "-c", str(settings)], port, directory / "log") as pid:
        yield RunningPeer(f"{_LOOPBACK}:{port}", pid)


@asynccontextmanager
async def _postgres(directory: Path, _programs: Path) -> AsyncIterator[RunningPeer]:
    user = "postgres" if os.geteuid() == 0 else None  # it does not run as root
    home, port = directory / "home", free_port()
    home.mkdir()
    if user is not None:
        shutil.chown(home, user)
    data = home / "data"
    initialise = [str(_POSTGRES_PROGRAMS / "initdb"), "-D", str(data), "-U", "load", "--auth=trust"]
    await run_once(initialise, home / "initdb.log", user=user)
    command = [str(_POSTGRES_PROGRAMS / "postgres"), "-D", str(data), "-p", str(port), "-h", _LOOPBACK]
    command += ["-k", str(data), "-c", f"max_connections={_CONNECTIONS_MAX}", "-c", "shared_buffers=512MB"]
    async with broker_process(command, port, home / "log", user=user) as pid:
        yield RunningPeer(f"postgres://load@{_LOOPBACK}:{port}/postgres", pid)


@asynccontextmanager
async def _rabbit(directory: Path, _programs: Path) -> AsyncIterator[RunningPeer]:
    port, names_port = free_port(), free_port()
    environment = {
        "HOME": str(directory),
        "RABBITMQ_NODENAME": "load@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": _LOOPBACK,
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_MNESIA_BASE": str(directory / "data"),
        "RABBITMQ_LOG_BASE": str(directory / "logs"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "plugins"),
        "ERL_EPMD_PORT": str(names_port),
        "ERL_EPMD_ADDRESS": _LOOPBACK,
    }
    (directory / "plugins").write_text("[].\n")
    names = broker_process(["epmd"], names_port, directory / "names.log", environment=environment)
    node = broker_process([str(_RABBIT_PROGRAM)], port, directory / "log", environment=environment)
    async with names, node as pid:
        yield RunningPeer(f"{_LOOPBACK}:{port}", pid)


@asynccontextmanager
async def _kafka(jars: Path, directory: Path, _programs: Path) -> AsyncIterator[RunningPeer]:
    async with kafka_broker(jars, directory / "kafka") as broker:
        yield RunningPeer(broker.address, broker.pid)
