"""The latest values of keys against a dict, asked through a gateway: over compaction, restarts, growth and purges."""

import dataclasses
from typing import Any

import httpx2
from hypothesis import example, given, settings
from hypothesis import strategies as st

from acklog.wire.partitioner import hash_of_key
from cluster.model.mapping_starts import ORDERED_MAPPINGS_MAX
from storage.compaction.compaction_settings import CompactionSettings
from storage.table.table_settings import TableSettings
from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.simulated_node import SMALL

KEYS = [f"k{number}" for number in range(6)]
QUICK = dataclasses.replace(
    SMALL,
    compaction=CompactionSettings(look_interval_ms=1_000, dirty_ratio_min=0.1, step_bytes=300),
    # A key may have been everywhere, and all of that is asked at once.
    table=TableSettings(step_bytes=300, open_max=ORDERED_MAPPINGS_MAX + 1),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.sampled_from(KEYS)),
        st.tuples(st.just("send"), st.sampled_from(KEYS)),
        st.tuples(st.just("tombstone"), st.sampled_from(KEYS)),
        st.tuples(st.just("look"), st.sampled_from(KEYS)),
        st.tuples(st.just("compact"), st.just("")),
        st.tuples(st.just("restart"), st.just("")),
        st.tuples(st.just("grow"), st.just("")),
        st.tuples(st.just("grow often"), st.just("")),
        st.tuples(st.just("purge"), st.sampled_from(KEYS)),
        st.tuples(st.just("wait"), st.just("")),
    ),
    min_size=1,
    max_size=30,
)


class World:
    def __init__(self, cluster: Cluster, client: httpx2.AsyncClient, nodes: int) -> None:
        self._nodes = nodes
        self._cluster = cluster
        self._client = client
        self._partitions = [1]  # by mapping
        self._stored: dict[int, list[int]] = {}  # by partition, the mappings of its messages
        self._last: dict[str, tuple[int, int]] = {}  # by key, the mapping and the partition of its last message
        self._number = 0
        self.model: dict[str, int] = {}

    async def step(self, what: str, key: str) -> None:
        match what:
            case "send":
                self._number += 1
                await self._send({"key": key, "body": self._number})
                self.model[key] = self._number
            case "tombstone":
                await self._send({"key": key, "bodyBase64": ""})
                self.model.pop(key, None)
            case "look":
                await self.check(key)
            case "compact":
                await self._compact()
            case "restart":
                node = self._number % self._nodes + 1
                await self._cluster.stop(node)
                await self._cluster.start(node)
            case "grow":
                await self._grow()
            case "grow often":
                for _ in range(6):
                    await self._grow()
            case "purge":
                await self._purge(self._home(key, len(self._partitions) - 1))
            case "wait":
                await self._cluster.clock.sleep(5_000)

    async def check(self, key: str) -> None:
        answer = await self._client.get(f"/topics/table/keys/{key}")
        if key in self.model:
            assert answer.status_code == 200, answer.text
            assert (answer.json()["key"], answer.json()["body"]) == (key, self.model[key])
        else:
            assert (answer.status_code, answer.json()["code"]) == (404, "KEY_NOT_FOUND"), answer.text

    def _home(self, key: str, mapping: int) -> int:
        return hash_of_key(key) % self._partitions[mapping]

    async def _grow(self) -> None:
        answer = await self._client.patch("/topics/table", json={"partitions": self._partitions[-1] + 1})
        if len(self._partitions) > ORDERED_MAPPINGS_MAX:
            assert (answer.status_code, answer.json()["code"]) == (409, "TOO_MANY_CHANGES"), answer.text
        else:
            assert answer.status_code == 200, answer.text
            self._partitions.append(self._partitions[-1] + 1)

    async def _purge(self, partition: int) -> None:
        """With what is removed goes what came before it of keys that belonged there by then."""
        answer = await self._asked_until_known("/topics/table/purge", {"partitions": [partition]})
        assert answer.status_code == 200, answer.text
        removed = self._stored.pop(partition, [])
        for key, (mapping, place) in list(self._last.items()):
            later = [each for each in removed if each > mapping and self._home(key, each) == partition]
            if place == partition or later:
                self.model.pop(key, None)

    async def _compact(self) -> None:
        answer = await self._asked_until_known("/topics/table/compact", None)
        assert answer.status_code == 202, answer.text
        await self._cluster.clock.sleep(2_000)

    async def _asked_until_known(self, path: str, document: object) -> httpx2.Response:
        """Who asks right after the topic was made or grown meets nodes that have not heard of it, and asks again."""
        answer = await self._client.post(path, json=document)
        for _ in range(10):
            if answer.status_code not in {207, 503}:  # some have not heard of it, or all
                break
            await self._cluster.clock.sleep(int(answer.headers.get("Retry-After", 1)) * 1000)
            answer = await self._client.post(path, json=document)
        return answer

    async def _send(self, fields: dict[str, Any]) -> None:
        answer = await self._client.post("/messages", json={"queue": "table", **fields})
        assert answer.status_code == 201, answer.text
        mapping = len(self._partitions) - 1
        self._last[fields["key"]] = mapping, answer.json()["partition"]
        self._stored.setdefault(answer.json()["partition"], []).append(mapping)


MANY_GROWTHS = [step for _ in range(3) for step in [*(("send", key) for key in KEYS), ("grow often", "")]]
MOVED_AND_PURGED = [
    *(("send", key) for key in KEYS),
    ("grow", ""),
    *(("tombstone", key) for key in KEYS),
    *(("purge", key) for key in KEYS),
]


@settings(max_examples=25, deadline=None)
@given(STEPS)
@example([*MANY_GROWTHS, *(("tombstone", key) for key in KEYS)])
@example(MOVED_AND_PURGED)
def test_the_latest_values_are_what_a_dict_says(steps: list[tuple[str, str]]) -> None:
    go_through(steps, nodes=1)


@settings(max_examples=10, deadline=None)
@given(STEPS)
@example([("grow", ""), ("compact", "")])
@example(MOVED_AND_PURGED)
def test_whoever_leads_says_the_same(steps: list[tuple[str, str]]) -> None:
    """On three nodes, of which each goes away now and then: the next leader has an index of its own to make."""
    go_through(steps, nodes=3)


def go_through(steps: list[tuple[str, str]], *, nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        async with client_of(cluster.gateways[0]) as client:
            config = {
                "cleanupPolicy": "compact",
                "maxCompactionLagMs": 1_000,
                "tombstoneRetentionMs": 1_000,
                "dedupWindowMs": 0,
            }
            made = await client.put("/topics/table", json={"partitions": 1, "config": config})
            assert made.status_code == 201, made.text
            world = World(cluster, client, nodes)
            for what, key in steps:
                await world.step(what, key)
            for key in KEYS:
                await world.check(key)

    ClusterBuilder().nodes(nodes).storing(QUICK).gateway().run(main)
