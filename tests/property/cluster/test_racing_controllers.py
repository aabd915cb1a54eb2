"""Two controllers, snapshots that are old, transactions that arrive at any time later: only the present term's count.

What a controller of an earlier term sent never takes effect; what one of the present term sent late may fail, and where
it does not, it keeps every rule (`tests.support.planned_cluster` checks each write).
"""

from collections import Counter
from dataclasses import dataclass, field
from random import Random

import pytest

from cluster.controller.image import ClusterImage
from cluster.controller.planner import Planner
from cluster.controller.steps import PlannedTransaction, pack
from cluster.life.election import fence
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.values import ControllerClaim
from cluster.ports.coordination import Delete, Put
from cluster.stores.key_space import Transaction
from tests.support.planned_cluster import SETTINGS, PlannedCluster

SEEDS_PER_TEST = 20
EVENTS = 120


@dataclass
class RacingController:
    """It believes in its last term until it is elected again."""

    node_id: int
    planner: Planner
    token: int = 0
    image: ClusterImage = field(default_factory=ClusterImage)


@dataclass
class Race:
    cluster: PlannedCluster
    random: Random
    controllers: list[RacingController]
    under_way: list[tuple[int, PlannedTransaction]] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)

    def elect(self) -> None:
        controller = self.random.choice(self.controllers)
        self.cluster.write(Delete(keys.CONTROLLER))
        self.cluster.write(Put(keys.CONTROLLER, encode(ControllerClaim(controller.node_id, 1))))
        controller.planner = Planner(SETTINGS)
        controller.token = self.present_token()

    def present_token(self) -> int:
        item = self.cluster.key_space.get(keys.CONTROLLER)
        assert item is not None
        return item.create_revision

    def look(self) -> None:
        listing = self.cluster.key_space.list(keys.ROOT)
        self.random.choice(self.controllers).image = ClusterImage(listing.items, revision=listing.revision)

    def plan(self) -> None:
        controller = self.random.choice(self.controllers)
        controller.image.mark_all_changed()
        steps = controller.planner.plan(controller.image, self.cluster.now_ms).steps
        self.under_way += [(controller.token, planned) for planned in pack(steps, reserved=(fence(controller.token),))]

    def arrive(self) -> None:
        if not self.under_way:
            return
        token, planned = self.under_way.pop(self.random.randrange(len(self.under_way)))
        succeeded = self.cluster.transact(Transaction((fence(token), *planned.compares), planned.operations))
        is_stale = token != self.present_token()
        assert not (succeeded and is_stale), "a stale controller changed something"
        self.outcomes[f"{'stale' if is_stale else 'present'} {'done' if succeeded else 'refused'}"] += 1

    def disturb(self) -> None:
        node = self.random.choice(sorted(self.cluster.machines))
        self.random.choice([self.cluster.stop, self.cluster.start, self.cluster.wipe, self.cluster.drain])(node)

    def serve(self) -> None:
        self.cluster.replicate()
        for partition in self.cluster.states():
            self.cluster.append(partition)

    def wait(self) -> None:
        self.cluster.now_ms += self.random.choice([100, 3_000, 11_000])


@pytest.mark.parametrize("first_seed", [0, SEEDS_PER_TEST, 2 * SEEDS_PER_TEST])
def test_only_the_present_controller_changes_anything(first_seed: int) -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(first_seed, first_seed + SEEDS_PER_TEST):
        cluster, random = PlannedCluster(), Random(seed)
        for node in (1, 2, 3, 4):
            cluster.start(node)
        cluster.create("a", partitions=3, replicas=3, min_isr=2)
        cluster.create("b", partitions=2, replicas=2)
        race = Race(cluster, random, [RacingController(node, Planner(SETTINGS)) for node in (1, 2)])
        race.elect()
        happenings = [race.look, race.plan, race.arrive, race.serve]
        for _ in range(EVENTS):
            random.choice([*happenings * 3, race.elect, race.disturb, race.wait])()
        outcomes += race.outcomes
        cluster.new_controller()
        cluster.settle()
    assert set(outcomes) == {"stale refused", "present refused", "present done"}
