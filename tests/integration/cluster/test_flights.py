"""The flights pipeline while each of its components, and of the cluster's, is killed: what comes out is exactly right.

The producer still sends, and the workers still work, at every kill: the file that it sends grows until the last one is
over.
"""

import asyncio
import random
from pathlib import Path

import pytest

from tests.integration.cluster.flights_run import KINDS_BEHIND, KINDS_IN_FRONT, FlightsRun, running_flights
from tests.support.real_cluster import RealCluster, running_real_cluster

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("cluster faults"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]

ROUNDS = 4


async def kill_and_go_on(run: FlightsRun, *kinds: str) -> None:
    """All of these at once; after that flights come through that were not written yet."""
    await asyncio.gather(*(run.kill(kind) for kind in kinds))
    await run.progress()


async def test_everything_is_killed_once_and_every_flight_counts_once(
    shared_cluster: RealCluster, tmp_path: Path
) -> None:
    async with running_flights(shared_cluster, tmp_path, seed=1) as run:
        for pair in zip(KINDS_IN_FRONT, KINDS_BEHIND, strict=True):
            await kill_and_go_on(run, *pair)
        assert await run.finish() == []


@pytest.mark.faults
@pytest.mark.timeout(1800)
async def test_everything_is_killed_again_and_again(tmp_path: Path, etcd_program: Path) -> None:
    """In any order; and in each round one of those in front together with one of those behind."""
    chosen, kinds = random.Random(2), (*KINDS_IN_FRONT, *KINDS_BEHIND)
    async with (
        running_real_cluster(tmp_path / "cluster", etcd_program) as cluster,
        running_flights(cluster, tmp_path, seed=2) as run,
    ):
        for _ in range(ROUNDS):
            for kind in chosen.sample(kinds, len(kinds)):
                await kill_and_go_on(run, kind)
            await kill_and_go_on(run, chosen.choice(KINDS_IN_FRONT), chosen.choice(KINDS_BEHIND))
        assert await run.finish() == []
