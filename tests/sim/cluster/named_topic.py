"""Processes that take a producer's name from each other, while things go wrong and their topic grows: who opened it
last sends, and nobody else does.

Each opens the name and sends one message after the other, each until it is stored, with pauses in which others open it.
When all is calm the topic is read: the messages of an epoch are there once each and without a gap, and none stands
behind one of a later epoch in its partition.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from tests.sim.clients import UNKNOWN_CODES, Surroundings
from tests.sim.cluster.administrator import Administrator
from tests.sim.cluster.machines import Surrounding
from tests.sim.http_client import Answer, ConnectionLostError
from tests.sim.options import Fault
from tests.sim.queue_label import NAMED

GROWTHS_MAX = 2
KEYS = 6
PATIENCE_S = 30.0
RESEND_PROBABILITY = 0.2
TRIES_WHEN_CALM_MAX = 60
"""A partition whose window of names is damaged refuses them for longer than anybody waits here."""


class _Opened(NamedTuple):
    producer_id: str
    epoch: int
    answered_ms: float


class _Number(NamedTuple):
    epoch: int
    sequence: int


class NamedTopic:
    """`violations` is complete once `run` has returned."""

    def __init__(self, machines: Surrounding, clients: Surroundings, administrator: Administrator) -> None:
        self.violations: list[str] = []
        self._around = clients
        self._options = machines.options
        self._coverage = machines.coverage
        self._administrator = administrator
        self._random = random.Random(f"named {machines.options.seed}")
        self._resends = random.Random(f"named, again {machines.options.seed}")
        self._partitions = self._random.randint(1, 2)
        self._openings: list[_Opened] = []
        self._stored: dict[_Number, tuple[int, int]] = {}
        # What rots on the only disk says nothing any more; elsewhere it comes back from the others.
        self._is_judged = Fault.BIT_ROT not in self._options.faults or self._options.replication_factor > 1

    async def run(self) -> None:
        """Returns once all is calm, nobody sends any more, and all is read."""
        await self._until_done(
            "PUT",
            f"/topics/{NAMED}",
            {
                "partitions": self._partitions,
                "replicationFactor": self._options.replication_factor,
                "config": {
                    "minInsyncReplicas": self._options.min_insync_replicas,
                    "maxReplicaLagMs": self._options.max_replica_lag_ms,
                },
            },
        )
        await asyncio.gather(self._grow(), *map(self._take_and_send, range(self._options.name_takers)))
        if self._is_judged:
            self._judge([await self._read(partition) for partition in range(await self._partitions_now())])

    async def _grow(self) -> None:
        for _ in range(self._random.randint(0, GROWTHS_MAX)):
            await asyncio.sleep(self._random.uniform(1, self._options.duration_ms / 2000))
            self._partitions += 1
            answer = await self._administrator.ask("PATCH", f"/topics/{NAMED}", {"partitions": self._partitions})
            self._coverage["named topics grown"] += answer is not None and answer.status == 200

    # --- one of the processes ----------------------------------------------------------------------------------------

    async def _take_and_send(self, taker: int) -> None:
        rng = random.Random(f"name taker {taker} {self._options.seed}")
        life = 0
        while not self._around.calm:
            life += 1
            opened = await self._open(f"taker-{taker}-{life}")
            sequence = 0
            while not self._around.calm and await self._is_stored(opened, sequence, rng):
                sequence += 1
                pause_s = rng.uniform(1, 4) if rng.random() < 0.15 else rng.uniform(0, 0.2)
                await asyncio.sleep(pause_s)
            await asyncio.sleep(rng.uniform(0.2, 3))

    async def _open(self, instance: str) -> _Opened:
        answer = await self._until_done("PUT", f"/topics/{NAMED}/producers/writer", {"instanceId": instance})
        opened = _Opened(answer["producerId"], answer["epoch"], self._around.now_ms())
        self._coverage["openings of a name"] += 1
        if any(each.epoch == opened.epoch for each in self._openings):
            self.violations.append(f"the epoch {opened.epoch} of a named producer was given out twice")
        self._openings.append(opened)
        return opened

    async def _is_stored(self, opened: _Opened, sequence: int, rng: random.Random) -> bool:
        """Send until it is; False where the name was taken, or patience is at its end."""
        number = _Number(opened.epoch, sequence)
        body = json.dumps({"queue": NAMED, "key": f"key-{rng.randrange(KEYS)}", "body": number}).encode()
        tries, tries_when_calm = 0, 0
        while tries_when_calm < TRIES_WHEN_CALM_MAX:
            began_ms = self._around.now_ms()
            document = await self._post(opened, sequence, body)
            code = str(document.get("code", ""))
            if code == "PRODUCER_FENCED":
                self._coverage["fenced sends"] += 1
                return False
            if not code:
                self._note(number, document, began_ms, is_first=tries == 0)
                if self._resends.random() < RESEND_PROBABILITY:
                    await self._send_again(opened, sequence, body)
                return True
            if code == "INTERNAL" or (not document["retriable"] and code not in UNKNOWN_CODES):
                self.violations.append(f"a send of a named producer was answered with {document}")
                return False
            tries += 1
            tries_when_calm += self._around.calm
            await asyncio.sleep(rng.uniform(0.05, 0.5))
        return False

    async def _send_again(self, opened: _Opened, sequence: int, body: bytes) -> None:
        """As one whose answer was lost: it hears of the place where the message is."""
        document = await self._post(opened, sequence, body)
        place = self._stored[_Number(opened.epoch, sequence)]
        if "code" not in document and (document["partition"], document["offset"]) != place:
            self.violations.append(f"{opened.epoch}/{sequence} was stored at {place}, and again: {document}")

    async def _post(self, opened: _Opened, sequence: int, body: bytes) -> dict[str, Any]:
        http = self._around.http()
        if http is None:
            return {"code": "UNAVAILABLE", "retriable": True}
        numbers = {"id": opened.producer_id, "epoch": opened.epoch, "sequence": sequence}
        headers = [f"producer-{name}: {value}" for name, value in numbers.items()]
        try:
            answer = await http.post("/messages", body, more_headers=headers, leave_after_s=PATIENCE_S)
        except ConnectionLostError:
            return {"code": "OUTCOME_UNKNOWN", "retriable": True}
        document: dict[str, Any] = answer.json
        return document

    def _note(self, number: _Number, document: dict[str, Any], began_ms: float, *, is_first: bool) -> None:
        """What was tried before may be stored from then, whoever has the name now. Of one millisecond nobody knows what
        was first."""
        later = [each.epoch for each in self._openings if each.epoch > number.epoch and each.answered_ms < began_ms]
        if is_first and later:
            self.violations.append(f"a send of epoch {number.epoch} was taken though {max(later)} had been opened")
        self._stored[number] = document["partition"], document["offset"]

    # --- judging -----------------------------------------------------------------------------------------------------

    def _judge(self, logs: list[list[dict[str, Any]]]) -> None:
        places = [(_Number(*each["body"]), (each["partition"], each["offset"])) for log in logs for each in log]
        self._coverage["messages of a named producer"] += len(places)
        if self._options.dedup_is_exact:
            counts = Counter(number for number, _ in places)
            self.violations += [f"{number} is stored {count} times" for number, count in counts.items() if count > 1]
            self.violations += [
                f"{number} was stored at {place}, and stands somewhere else"
                for number, place in self._stored.items()
                if (number, place) not in places
            ]
        for partition, log in enumerate(logs):
            epochs = [each["body"][0] for each in log]
            if epochs != sorted(epochs):
                self.violations.append(f"epochs of a named producer in partition {partition}: {epochs}")
        for epoch in {number.epoch for number, _ in places}:
            self._judge_gaps(epoch, {number.sequence for number, _ in places if number.epoch == epoch})

    def _judge_gaps(self, epoch: int, sequences: Iterable[int]) -> None:
        missing = set(range(max(sequences))) - set(sequences)
        if missing:
            self.violations.append(f"epoch {epoch} of a named producer has gaps: {sorted(missing)}")

    # --- asking ------------------------------------------------------------------------------------------------------

    async def _partitions_now(self) -> int:
        described = await self._until_done("GET", f"/topics/{NAMED}")
        partitions: int = described["partitions"]
        return partitions

    async def _read(self, partition: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        offset = 0
        while True:
            page = await self._until_done("GET", f"/topics/{NAMED}/partitions/{partition}/records?offset={offset}")
            found += page["records"]
            if page["nextOffset"] == offset:
                return found
            offset = page["nextOffset"]

    async def _until_done(self, method: str, path: str, document: dict[str, Any] | None = None) -> dict[str, Any]:
        while True:
            answer = await self._administrator.ask(method, path, document)
            if answer is not None and not self._code(answer):
                found: dict[str, Any] = answer.json
                return found
            await self._administrator.pause()

    def _code(self, answer: Answer) -> str:
        code = "" if answer.status < 300 else str(answer.json["code"])
        if code == "INTERNAL":
            self.violations.append(f"about a named producer: {answer.json}")
        return code
