"""Whoever runs the cluster: asks some gateway over HTTP for what `acklog cluster ...` asks for, until it is done."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.sim.cluster.hardware import Hardware
from tests.sim.http_client import Answer, ConnectionLostError, HttpClient

PATIENCE_S = 15.0
PAUSE_S = 0.5


class Administrator:
    """An answer is None where none came, or where nobody could be asked."""

    def __init__(self, hardware: Hardware, coverage: Counter[str], seed: int) -> None:
        self._hardware = hardware
        self._coverage = coverage
        self._random = random.Random(f"administrator {seed}")

    async def look(self) -> Mapping[str, Any] | None:
        """`acklog cluster status`, as one gateway knows it."""
        answer = await self.ask("GET", "/cluster")
        return None if answer is None or answer.status != 200 else answer.json

    async def drain(self, node_id: int) -> bool:
        """`acklog cluster drain`: whether the wish is stored."""
        return await self._wish(f"/cluster/nodes/{node_id}/drain")

    async def reassign(self, topic: str, partition: int, replicas: list[int]) -> bool:
        """`acklog cluster reassign`: whether the order is stored."""
        return await self._wish(f"/cluster/moves/{topic}/{partition}", {"replicas": replicas})

    async def _wish(self, path: str, document: Mapping[str, Any] | None = None) -> bool:
        answer = await self.ask("PUT", path, document)
        if answer is not None:
            self._coverage[f"steering {answer.json.get('code', 'OK')}"] += 1
        return answer is not None and answer.status == 202

    async def ask(self, method: str, path: str, document: Mapping[str, Any] | None = None) -> Answer | None:
        http = self._gateway()
        body = b"" if document is None else json.dumps(document).encode()
        return None if http is None else await self._answer(http, method, path, body)

    async def _answer(self, http: HttpClient, method: str, path: str, body: bytes) -> Answer | None:
        try:
            return await http.request(method, path, body, leave_after_s=PATIENCE_S)
        except ConnectionLostError:
            self._coverage["administration without an answer"] += 1
            return None

    def _gateway(self) -> HttpClient | None:
        living = [machine.http for machine in self._hardware.gateways if machine.http is not None]
        return self._random.choice(living) if living else None

    async def pause(self) -> None:
        await asyncio.sleep(self._random.uniform(0.1, PAUSE_S))
