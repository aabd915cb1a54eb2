"""examples/flights_pipeline on a cluster: a file that grows, who sends it, who works on it, and who is killed."""

import asyncio
import contextlib
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from acklog import Client
from cluster.etcd.etcd_store import EtcdStore
from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.internal_topics import GROUPS_TOPIC, coordinator_partition
from cluster.model.values import Group, PartitionState, Topic
from cluster.ports.coordination import CoordinationError
from examples.flights_pipeline.pipeline import FLIGHTS, GROUP
from tests.integration.flights_work import (
    DELAYS,
    PARTITIONS,
    SENT,
    contents,
    faults_of,
    flights,
    flights_counted,
    is_done,
    lines_sent,
    place_sent,
)
from tests.support.etcd_store import etcd_store
from tests.support.real_cluster import RealCluster
from tests.support.server_process import REPOSITORY
from tests.support.waiting import poll_until

PROGRAMS = REPOSITORY / "examples/flights_pipeline"
FILE = "flights.ndjson"
KINDS_IN_FRONT = ("producer", "worker", "gateway")
KINDS_BEHIND = ("leader", "coordinator", "etcd")
WORKERS = 2
SESSION_S = 6
LINES_AHEAD_MAX = 100
LINES_AT_ONCE = 10
LINES_OF_A_BURST = 200
WRITE_PAUSE_S = 0.05
PATIENCE_S = 120
RETRIES_MAX = 100


class KeptProgram:
    """A program that is started again whenever its process has ended, as whatever runs it would do."""

    def __init__(self, name: str, arguments: list[str], environment: Mapping[str, str], log_path: Path) -> None:
        self._arguments = [sys.executable, *arguments]
        self._environment = {**os.environ, **environment}
        self._log_path = log_path
        self._process: asyncio.subprocess.Process | None = None
        self._keeping = asyncio.create_task(self._keep(), name=name)

    def kill(self) -> None:
        """SIGKILL, also where it stands still. It begins anew by itself."""
        self._signal(signal.SIGKILL)

    def pause(self) -> None:
        """SIGSTOP: what it has sent arrives, and it does nothing about it."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(number)

    async def stop(self) -> None:
        self._keeping.cancel()
        await asyncio.gather(self._keeping, return_exceptions=True)

    async def _keep(self) -> None:
        try:
            while True:
                with self._log_path.open("ab") as log:
                    self._process = await asyncio.create_subprocess_exec(
                        *self._arguments, env=self._environment, cwd=self._log_path.parent, stdout=log, stderr=log
                    )
                await self._process.wait()
        finally:
            if self._process is not None:
                self.kill()
                await self._process.wait()


class FlightsRun:
    """Made by `running_flights`. The file grows until `finish`, so there is always more to be sent."""

    def __init__(self, cluster: RealCluster, directory: Path, store: EtcdStore, *, seed: int) -> None:
        self.killed: list[str] = []
        self.lines = 0
        self._cluster = cluster
        self._directory = directory
        self._store = store
        self._random = random.Random(seed)
        self._programs: dict[str, KeptProgram] = {}
        self._writing = asyncio.create_task(self._write(), name="flights")

    def start_programs(self) -> None:
        urls = self._cluster.gateway_urls
        self._programs["producer"] = self._program("source", [str(self._directory / FILE)], urls[0])
        for number in range(WORKERS):
            self._programs[f"worker {number}"] = self._program("pipeline", [], urls[number % len(urls)])

    async def progress(self) -> None:
        """Wait until flights are counted that were not even in the file by now."""
        until = self.lines + LINES_AT_ONCE

        async def is_reached() -> bool:
            return flights_counted(self._directory) >= until

        await poll_until(is_reached, seconds=PATIENCE_S, what=f"{until} flights counted, after {self.killed}")

    async def kill(self, kind: str) -> None:
        """One of these kinds, and have it come back."""
        self.killed.append(kind)
        if kind == "producer":
            await self._kill_producer()
        elif kind == "worker":
            self._programs[f"worker {self._random.randrange(WORKERS)}"].kill()
        elif kind == "etcd":
            await self._kill_etcd_leader()
        elif kind == "gateway":
            await self._cluster.restart(self._random.choice([*self._cluster.gateways.values()]))
        else:
            coordinator = await self.coordinator()
            node = coordinator if kind == "coordinator" else await self._leader_but(coordinator)
            await self._cluster.restart(self._cluster.nodes[node])

    async def coordinator(self) -> int:
        """The node that coordinates the group: who leads its partition of the groups' topic."""
        groups_topic = decode(Topic, await self._read(keys.topic(GROUPS_TOPIC)))
        group_id = decode(Group, await self._read(keys.group(GROUP))).id
        return await self._leader_of(groups_topic.id, coordinator_partition(group_id, groups_topic))

    async def finish(self) -> list[str]:
        """No more flights: when all are through, everything that is wrong."""
        self._writing.cancel()
        await asyncio.gather(self._writing, return_exceptions=True)
        size = (self._directory / FILE).stat().st_size

        async def is_sent() -> bool:
            return place_sent(self._directory) == size

        await poll_until(is_sent, seconds=PATIENCE_S, what="the whole file is sent")
        with self._client() as client:

            async def is_through() -> bool:
                return await asyncio.to_thread(is_done, client)

            await poll_until(is_through, seconds=PATIENCE_S, what="all acks")
            return await asyncio.to_thread(faults_of, client, self._directory, flights(range(self.lines)))

    async def stop(self) -> None:
        self._writing.cancel()
        await asyncio.gather(self._writing, return_exceptions=True)
        await asyncio.gather(*(program.stop() for program in self._programs.values()))

    async def _write(self) -> None:
        """Whoever sends has always something to send, and is not far ahead of who counts."""
        while True:
            if self.lines - flights_counted(self._directory) <= LINES_AHEAD_MAX:
                self._add_lines(LINES_AT_ONCE)
            await asyncio.sleep(WRITE_PAUSE_S)

    def _add_lines(self, more: int) -> None:
        with (self._directory / FILE).open("a") as file:
            file.writelines(json.dumps(flight) + "\n" for flight in flights(range(self.lines, self.lines + more)))
        self.lines += more

    async def _kill_producer(self) -> None:
        """When flights are stored that it has not committed yet, which the next one sends again."""
        producer = self._programs["producer"]

        async def stands_in_between() -> bool:
            begin = place_sent(self._directory)
            self._add_lines(LINES_OF_A_BURST)
            producer.resume()

            async def has_gone_on() -> bool:
                return place_sent(self._directory) > begin

            await poll_until(has_gone_on, seconds=PATIENCE_S, what="the producer sends a burst")
            producer.pause()
            with self._client() as client:
                there, _ = await asyncio.to_thread(contents, client, FLIGHTS)
            return there.total() > lines_sent(self._directory, FILE)

        await poll_until(stands_in_between, seconds=PATIENCE_S, what="the producer between a send and its commit")
        producer.kill()

    def _client(self) -> Client:
        """That waits for what is away."""
        return Client(self._cluster.gateway_urls[-1], timeout_s=PATIENCE_S, retries_max=RETRIES_MAX)

    def _program(self, name: str, arguments: list[str], url: str) -> KeptProgram:
        environment = {
            "ACKLOG_URL": url,
            "DELAYS": str(self._directory / DELAYS),
            "SENT": str(self._directory / SENT),
            "SESSION_TIMEOUT_S": str(SESSION_S),
        }
        log_path = self._directory / f"{name}.log"
        return KeptProgram(name, [str(PROGRAMS / f"{name}.py"), *arguments], environment, log_path)

    async def _kill_etcd_leader(self) -> None:
        member = await asyncio.to_thread(self._cluster.etcd.leader)
        await asyncio.to_thread(member.kill)
        self._cluster.etcd.launch(member)
        await asyncio.to_thread(member.wait_until_serving)

    async def _leader_but(self, coordinator: int) -> int:
        """Who leads a partition of the flights; another one than that, if there is one."""
        topic = decode(Topic, await self._read(keys.topic(FLIGHTS)))
        leaders = [await self._leader_of(topic.id, number) for number in range(PARTITIONS)]
        return min(leaders, key=lambda leader: (leader == coordinator, leader))

    async def _leader_of(self, topic_id: str, partition: int) -> int:
        async def leader() -> int | None:
            found = decode(PartitionState, await self._read(keys.partition(topic_id, partition))).leader
            return found if found >= 0 else None

        return await poll_until(leader, seconds=PATIENCE_S, what=f"a leader of {topic_id}/{partition}")

    async def _read(self, key: str) -> bytes:
        """What etcd has there, also where its leader was killed a moment ago."""

        async def value() -> bytes | None:
            with contextlib.suppress(CoordinationError):
                item = await self._store.get(key)
                return None if item is None else item.value
            return None

        return await poll_until(value, seconds=PATIENCE_S, what=f"{key} in etcd")


@contextlib.asynccontextmanager
async def running_flights(cluster: RealCluster, directory: Path, *, seed: int) -> AsyncIterator[FlightsRun]:
    """The producer and the workers are at work when the block begins, and gone when it ends."""
    store = etcd_store(*cluster.etcd.endpoints)
    with Client(cluster.gateway_urls[0]) as client:
        await asyncio.to_thread(client.topics.create, FLIGHTS, PARTITIONS)
        await asyncio.to_thread(client.groups.ensure, GROUP, mode="exclusive")
    run = FlightsRun(cluster, directory, store, seed=seed)
    try:
        run.start_programs()
        await run.progress()
        yield run
    finally:
        await run.stop()
        await store.close()
