"""Load on a cluster while something is done to it: a topic of its own, producers, consumers, and who leads what."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from acklog.wire.problems import ProblemCode
from tests.integration.cluster.gateways import Gateways
from tests.integration.cluster.partition_watch import PartitionWatch
from tests.integration.ordered_consumers import description
from tests.integration.traffic import GROUP, Traffic
from tests.sim.history import Faulted
from tests.sim.options import LastingFault, OrderedGroup
from tests.support.etcd_store import etcd_store
from tests.support.real_cluster import RealCluster

PARTITIONS = 4
REPLICAS = 3
SENDS_FIRST = 50
PATIENCE_S = 120
WITHOUT_AN_ANSWER = frozenset({"ClientConnectorError", "ServerDisconnectedError", "ClientOSError"})
"""Of a gateway that is not there, or has just closed an idle connection: what a load balancer keeps from clients."""


class FaultLoad:
    """Made by `under_load`. `traffic` runs until `stop`."""

    def __init__(self, cluster: RealCluster, traffic: Traffic, watch: PartitionWatch) -> None:
        self.cluster = cluster
        self.traffic = traffic
        self.watch = watch

    async def progress(self, sends: int) -> None:
        """Wait until so many more sends have been acknowledged, by whomever."""
        await self.traffic.acknowledged(self.traffic.acknowledged_sends + sends, seconds=PATIENCE_S)

    async def acks_progress(self, acks: int) -> None:
        """Wait until so many more acks have been confirmed."""
        wanted = self.traffic.confirmed_acks + acks

        async def is_reached() -> bool:
            return self.traffic.confirmed_acks >= wanted

        await self.watch.until_true(is_reached, what=f"{acks} more confirmed acks")

    def note_fault(self, fault: LastingFault) -> None:
        """That it begins now: for judges who let a leader off that cannot have noticed yet that it is none any more."""
        now_ms = time.monotonic() * 1000
        self.traffic.history.add(Faulted(began_ms=now_ms, ended_ms=now_ms, kind=fault.value))

    async def healed(self) -> None:
        """Everything is mended and started by now: wait until it is as it was, and still works."""
        await self.watch.until_in_sync(REPLICAS)
        await self.progress(SENDS_FIRST)


@asynccontextmanager
async def under_load(
    cluster: RealCluster,
    topic: str,
    *,
    producers: int = 6,
    consumers: int = 2,
    max_replica_lag_ms: int | None = None,
    ordered_groups: Sequence[OrderedGroup] = (),
) -> AsyncIterator[FaultLoad]:
    """Load as long as the block runs, also on groups that keep an order. After it `FaultLoad.traffic.judge()` says what
    was wrong."""
    gateways = Gateways(cluster.gateway_urls)
    config = {} if max_replica_lag_ms is None else {"config": {"maxReplicaLagMs": max_replica_lag_ms}}
    document = {"partitions": PARTITIONS, "replicationFactor": REPLICAS, **config}
    groups = [(f"/groups/{group.name}", description(group)) for group in ordered_groups]
    for target, fields in ((f"/topics/{topic}", document), (f"/groups/{GROUP}", {}), *groups):
        answer = await asyncio.to_thread(gateways.request, "PUT", target, fields)
        assert answer.status in {200, 201}, answer
    traffic = Traffic(gateways, topic, partitions=PARTITIONS, ordered_groups=ordered_groups)
    store = etcd_store(*cluster.etcd.endpoints)
    watch = PartitionWatch(store, topic, traffic.history)
    watching = asyncio.create_task(watch.watch(), name="partition watch")
    load = FaultLoad(cluster, traffic, watch)
    try:
        await watch.until_in_sync(REPLICAS)
        async with traffic.running(producers=producers, consumers=consumers):
            await load.progress(SENDS_FIRST)
            yield load
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await store.close()


async def verdict(load: FaultLoad) -> list[str]:
    """Every fault that clients have seen, or see now, when all of the log has been read and consumed."""
    return await load.traffic.judge(drain_seconds=PATIENCE_S)


def undocumented(load: FaultLoad) -> dict[tuple[str, int, str], int]:
    """Failures that do not say to send the same request again, and that docs/delivery.md does not say either: leases do
    not survive a change of leaders, so an ack may find its message with another consumer."""
    return {
        (method, status, code): times
        for (method, status, code), times in load.traffic.refusals.items()
        if code not in WITHOUT_AN_ANSWER and not (status and _is_documented(ProblemCode[code]))
    }


def _is_documented(code: ProblemCode) -> bool:
    if code is ProblemCode.OUTCOME_UNKNOWN:
        return False
    return code.value.retriable or code is ProblemCode.RECEIPT_STALE
