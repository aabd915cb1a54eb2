"""A topic and a group with quotas, used through all gateways at once, while things go wrong and after it.

While things go wrong no gateway lets through more than one that goes on alone may (docs/quotas.md). Once all is calm,
and the same node deals out a quota, all gateways together keep it: in every window its rate, within 10 %, and one
second's burst; also when one of them dies and another one begins in its place. What may be done is done: the rate is
used up, every gateway has its part, who waits as long as it is told gets through, and in the end the group has every
message. What was refused was not done.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cluster.model.quotas import owner_of_quota
from tests.sim.clients import Surroundings
from tests.sim.cluster.administrator import Administrator
from tests.sim.cluster.admissions import Admission, undisturbed, worst_excess
from tests.sim.cluster.hardware import Hardware
from tests.sim.cluster.limited_clients import GROUP, LimitedClients
from tests.sim.cluster.machines import Surrounding
from tests.sim.cluster.store_observer import StoreObserver
from tests.sim.options import Fault
from tests.sim.queue_label import LIMITED

WITHIN = 1.1
"""What the documentation promises."""
HEARD_AND_UNHEARD = 2.2
"""Of a gateway that is both in turns: what it goes on with alone, and what has flowed in for it meanwhile."""
LOOK_S = 0.05
SETTLED_LOOKS = 40
SETTLING_MS = 3_000
"""Longer than a claim is remembered, and than a gateway goes by what it knew of another node."""
IDLE_S = 3.0
LOAD_S = 6.0
DOWN_S = 2.5
USED_SHARE = 0.7
"""Of the rate, by clients that wait as they are told."""
PART_SHARE = 0.4
"""Of its part, by one of several gateways."""
TRIES_MAX = 5
CALM_S_MAX = 120.0


class LimitedTopic:
    """`violations` is complete once `run` has returned."""

    def __init__(
        self,
        machines: Surrounding,
        clients: Surroundings,
        administrator: Administrator,
        hardware: Hardware,
        store: StoreObserver,
    ) -> None:
        self._found: list[str] = []
        self._around = clients
        self._options = machines.options
        self._coverage = machines.coverage
        self._administrator = administrator
        self._hardware = hardware
        self._store = store
        self._random = random.Random(f"limited topic {machines.options.seed}")
        self._per_second = machines.options.limited_per_second
        self._clients = LimitedClients(clients, hardware, machines.options.seed)
        self._dealers: list[tuple[float, object]] = []
        """Which life of which node deals out the topic's quota, and the group's, from when on."""

    @property
    def violations(self) -> list[str]:
        return [*self._clients.violations, *self._found]

    async def run(self) -> None:
        """Returns once all is calm, and everything was tried and judged."""
        keys = await self._create()
        looking = asyncio.create_task(self._look(keys))
        end_ms = self._around.now_ms() + self._options.duration_ms
        await self._clients.use(lambda: self._around.calm or self._around.now_ms() >= end_ms, pause_s=1.0)
        while not self._around.calm:
            await self._administrator.pause()
        self._judge_each_gateway()
        await self._settle()
        began_ms = self._around.now_ms()
        await self._load(began_ms)
        await self._wait_as_told()
        await self._receive_the_rest()
        looking.cancel()
        self._judge_all(began_ms)
        await self._judge_refused()

    # --- doing -------------------------------------------------------------------------------------------------------

    async def _create(self) -> tuple[str, str]:
        """The keys of the two quotas."""
        config = {
            "minInsyncReplicas": self._options.min_insync_replicas,
            "maxReplicaLagMs": self._options.max_replica_lag_ms,
            "sendMessagesPerSecond": self._per_second,
        }
        topic = {"partitions": 1, "replicationFactor": self._options.replication_factor, "config": config}
        await self._until_done("PUT", f"/topics/{LIMITED}", topic)
        settings = {"receiveMessagesPerSecond": 2 * self._per_second, "maxAttempts": 100}
        await self._until_done("PUT", f"/groups/{GROUP}", {"settings": settings})
        topic_id = next(each.id for each in self._store.topics.values() if each.name == LIMITED)
        while True:
            views = [gateway.gateway.metadata for gateway in self._hardware.gateways if gateway.gateway is not None]
            for group in (view.group(GROUP) for view in views):
                if group is not None:
                    return f"topic/{topic_id}/sendMessagesPerSecond", f"group/{group.id}/receiveMessagesPerSecond"
            await self._administrator.pause()

    async def _look(self, keys: Sequence[str]) -> None:
        """At who deals out the quotas, as the store has it."""
        while True:
            nodes = dict(self._store.nodes)
            owners = [owner_of_quota(key, nodes.values()) for key in keys]
            dealers = [None if owner is None else (owner, nodes[owner].incarnation) for owner in owners]
            if not self._dealers or self._dealers[-1][1] != dealers:
                self._dealers.append((self._around.now_ms(), dealers))
            await asyncio.sleep(LOOK_S)

    async def _settle(self) -> None:
        """Until everything runs and goes on doing so; then nobody uses the quotas until that is forgotten."""
        looks = 0
        while looks < SETTLED_LOOKS:
            is_up = all(host.is_up for host in self._hardware.hosts)
            is_served = all(gateway.http is not None for gateway in self._hardware.gateways)
            looks = looks + 1 if is_up and is_served else 0
            await asyncio.sleep(LOOK_S)
        await asyncio.sleep(IDLE_S)

    async def _load(self, began_ms: float) -> None:
        """All that may be done, through all gateways, of which one may die meanwhile."""
        may_kill = self._clients.gateways > 1 and self._random.random() < 0.6
        killing = asyncio.create_task(self._kill_one()) if may_kill else None
        await self._clients.use(lambda: self._around.now_ms() - began_ms >= LOAD_S * 1000, pause_s=0.05)
        if killing is not None:
            await killing
        self._judge_use(began_ms)
        await asyncio.sleep(self._random.choice((0.5, 1.5, IDLE_S)))

    async def _kill_one(self) -> None:
        await asyncio.sleep(1.5)
        machine = self._random.choice(self._hardware.gateways)
        self._hardware.kept_down.add(machine.name)
        machine.end()
        self._coverage["gateways that died under a quota"] += 1
        await asyncio.sleep(DOWN_S)
        self._hardware.kept_down.discard(machine.name)

    async def _wait_as_told(self) -> None:
        """After a batch that is larger than what may be done in a second."""
        gateway = self._random.randrange(self._clients.gateways)
        while (wait_ms := await self._clients.send(gateway, 2 * self._per_second)) > 0:
            await asyncio.sleep(wait_ms / 1000)
        for _ in range(TRIES_MAX):
            wait_ms = await self._clients.send(gateway, 1)
            if wait_ms == 0:
                return
            await asyncio.sleep(wait_ms / 1000)
        self._found.append(f"still refused after {TRIES_MAX} waits, each as long as was told")

    async def _receive_the_rest(self) -> None:
        """A quota is no reason that something is never received."""
        deadline_ms = self._around.now_ms() + CALM_S_MAX * 1000
        clients = self._clients
        stored = {number for number, code in clients.codes.items() if not code}

        def is_over() -> bool:
            return stored <= clients.received.keys() or self._around.now_ms() >= deadline_ms

        await clients.receive_through_all(is_over)
        missing = sorted(stored - clients.received.keys())
        if missing:
            self._found.append(f"{GROUP} did not get {missing} within {CALM_S_MAX} s")

    # --- judging -----------------------------------------------------------------------------------------------------

    @property
    def _changes_ms(self) -> list[float]:
        return [at_ms for at_ms, _ in self._dealers[1:]]

    def _judge_each_gateway(self) -> None:
        """By itself: it may be cut off, and the node that deals out may be another one, or begin anew."""
        seconds = 2 + len(self._changes_ms)
        for what, rate, admissions in self._quotas():
            for gateway in sorted({each.gateway for each in admissions}):
                own = [each for each in admissions if each.gateway == gateway]
                excess = worst_excess(own, per_second=HEARD_AND_UNHEARD * rate, burst=seconds * rate + 1)
                if excess is not None:
                    self._found.append(f"{rate} {what} per second, and by {gateway}: {excess}")

    def _judge_all(self, began_ms: float) -> None:
        """Since then nothing goes wrong but for a gateway's death."""
        for what, rate, admissions in self._quotas():
            since = [each for each in admissions if each.began_ms >= began_ms]
            for part in undisturbed(since, self._changes_ms, settling_ms=SETTLING_MS):
                self._coverage[f"{what} under an undisturbed quota"] += len(part)
                excess = worst_excess(part, per_second=WITHIN * rate, burst=rate + 1)
                if excess is not None:
                    self._found.append(f"{rate} {what} per second, and all together: {excess}")

    def _judge_use(self, began_ms: float) -> None:
        """Where the same node dealt out all the time, and everybody wanted more than there was."""
        ended_ms = self._around.now_ms()
        if any(began_ms - SETTLING_MS <= at_ms <= ended_ms for at_ms in self._changes_ms):
            return
        since = [each for each in self._clients.sends if each.began_ms >= began_ms]
        wanted = self._per_second * LOAD_S
        done: Counter[str] = Counter()
        for each in since:
            done[each.gateway.split(".")[0]] += each.units
        self._coverage["quotas used up"] += 1
        if done.total() < USED_SHARE * wanted:
            self._found.append(f"{self._per_second} may be sent per second, and in {LOAD_S} s were: {dict(done)}")
        for name in (gateway.name for gateway in self._hardware.gateways):
            if done[name] < PART_SHARE * wanted / self._clients.gateways * (1 - DOWN_S / LOAD_S):
                self._found.append(f"{name} has no part of {self._per_second} per second: {dict(done)}")

    async def _judge_refused(self) -> None:
        if Fault.BIT_ROT in self._options.faults:
            return
        refused = {number for number, code in self._clients.codes.items() if code == "QUOTA_EXCEEDED"}
        offset = 0
        while True:
            page = await self._until_done("GET", f"/topics/{LIMITED}/partitions/0/records?offset={offset}")
            there = {each["body"] for each in page["records"]}
            self._found += [f"message {number} was refused, and is there" for number in sorted(there & refused)]
            if page["nextOffset"] == offset:
                return
            offset = page["nextOffset"]

    def _quotas(self) -> list[tuple[str, int, list[Admission]]]:
        """(what, how many per second, what was let through)."""
        rate = self._per_second
        return [("sends", rate, self._clients.sends), ("receives", 2 * rate, self._clients.receives)]

    async def _until_done(self, method: str, path: str, document: dict[str, Any] | None = None) -> dict[str, Any]:
        while True:
            answer = await self._administrator.ask(method, path, document)
            if answer is not None and answer.status < 300:
                found: dict[str, Any] = answer.json
                return found
            if answer is not None and answer.json["code"] == "INTERNAL":
                self._found.append(f"about quotas: {answer.json}")
            await self._administrator.pause()
