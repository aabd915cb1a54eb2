"""Whatever happens to a cluster, no write puts at risk what was acknowledged, and in the end all is well."""

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from cluster.controller.replica_placement import ReplicaPlacement
from cluster.controller.steps import DecisionKind
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.values import PartitionLife, Tombstone
from cluster.ports.coordination import Delete, Put
from tests.support.planned_cluster import SETTINGS, PlannedCluster

NODES_MAX = 6
EVENTS = (
    *("stop", "start", "wipe", "leave", "drain", "undrain", "append", "append", "replicate", "shrink"),
    *("order", "cancel", "grow", "create", "delete", "decommission", "find empty", "new controller", "time", "time"),
    *("replication", "pause", "resume"),
)
events = st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 10_000)), max_size=40)


def built(nodes: int, racks: int, topics: list[tuple[int, int, int]]) -> PlannedCluster:
    cluster = PlannedCluster()
    for node in range(1, nodes + 1):
        cluster.start(node, rack=f"rack {node % racks}" if racks else "")
    for number, (partitions, replicas, min_isr) in enumerate(topics):
        cluster.create(f"t{number}", partitions=partitions, replicas=replicas, min_isr=min(min_isr, replicas))
    cluster.control()
    return cluster


def happen(cluster: PlannedCluster, event: str, pick: int) -> None:
    states = cluster.states()
    partitions = [partition for partition, state in states.items() if state.life is not PartitionLife.GONE]
    nodes = sorted(cluster.machines)
    node, topics = nodes[pick % len(nodes)], sorted(cluster.topics().values(), key=lambda topic: topic.id)
    on_node: dict[str, Callable[[int], None]] = {
        "stop": cluster.stop,
        "start": cluster.start,
        "wipe": cluster.wipe,
        "leave": cluster.leave,
        "drain": cluster.drain,
        "undrain": cluster.undrain,
    }
    if event in on_node:
        if event != "wipe" or pick % 3 == 0:
            on_node[event](node)
    elif event == "new controller":
        cluster.new_controller()
    elif event == "time":
        cluster.now_ms += (100, 1_000, SETTINGS.balance_delay_ms, SETTINGS.repair_delay_ms)[pick % 4]
    elif event == "replicate":
        cluster.replicate()
    elif event == "pause":
        cluster.pause()
    elif event == "resume":
        cluster.resume()
    elif event == "create" and len(topics) < 5:
        cluster.create(f"n{cluster.key_space.revision}", partitions=1 + pick % 3, replicas=1 + pick % 2)
    elif partitions and topics:
        on_topic(cluster, event, pick, partitions[pick % len(partitions)])


def on_topic(cluster: PlannedCluster, event: str, pick: int, partition: tuple[str, int]) -> None:
    topic = cluster.topics().get(partition[0])
    if topic is None:
        return
    state = cluster.state(partition)
    if event == "append":
        cluster.append(partition)
    elif event == "shrink" and state.isr:
        cluster.shrink(partition, state.isr[pick % len(state.isr)])
    elif event == "cancel":
        cluster.cancel(partition)
    elif event == "order":
        live = [node for node, machine in cluster.machines.items() if machine.is_up]
        if len(live) >= topic.replication_factor:
            turned = live[pick % len(live) :] + live[: pick % len(live)]
            cluster.order(partition, tuple(turned[: topic.replication_factor]))
    elif event == "grow":
        cluster.change(replace(topic, partitions=min(8, topic.partitions + 1)))
    elif event == "replication":
        floor = topic.config.min_insync_replicas
        cluster.change(replace(topic, replication_factor=max(floor, 1 + pick % 4)))
    elif event == "delete" and pick % 3 == 0:
        tombstone = Put(keys.tombstone(topic.id), encode(Tombstone(topic.id, topic.name, 0)))
        cluster.write(Delete(keys.topic(topic.name)), tombstone)
    elif event == "decommission" and len(topic.decommissioned) < topic.partitions - 1:
        cluster.change(replace(topic, decommissioned=tuple(sorted({*topic.decommissioned, partition[1]}))))
    elif event == "find empty":
        cluster.find_empty(partition)


@settings(max_examples=120, deadline=None)
@given(
    st.integers(1, NODES_MAX),
    st.integers(0, 3),
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 2)), min_size=1, max_size=3),
    events,
)
def test_whatever_happens(
    nodes: int,
    racks: int,
    topics: list[tuple[int, int, int]],
    happenings: list[tuple[str, int]],
) -> None:
    run(built(nodes, racks, topics), happenings)


@pytest.mark.parametrize("first_seed", range(0, 100, 25))
def test_whatever_happens_for_long(first_seed: int) -> None:
    """What Hypothesis hardly draws: long stories. All of them together reach what is to be reached."""
    reached: Counter[DecisionKind] = Counter()
    for seed in range(first_seed, first_seed + 25):
        random = Random(seed)
        topics = [(random.randint(1, 5), random.randint(1, 4), random.randint(1, 2)) for _ in range(3)]
        cluster = built(random.randint(2, NODES_MAX), random.choice([0, 2, 3]), topics)
        run(cluster, [(random.choice(EVENTS), random.randint(0, 10_000)) for _ in range(150)])
        reached.update(decision.kind for decision in cluster.decisions)
    assert set(DecisionKind) - set(reached) <= {DecisionKind.DIRECTORY_LEARNED}


def run(cluster: PlannedCluster, happenings: list[tuple[str, int]]) -> None:
    for event, pick in happenings:
        happen(cluster, event, pick)
        cluster.control(batches=pick % 5 if pick % 3 == 0 else None)  # the controller's news may lag
    for node, machine in cluster.machines.items():
        if not machine.is_up:
            cluster.start(node)
    cluster.resume()
    cluster.settle()
    check_the_end(cluster)


def check_the_end(cluster: PlannedCluster) -> None:
    """All nodes live (some are leaving or drained), and nothing has happened for long."""
    membership = cluster.image.membership
    usable = [member.node_id for member in membership.usable()]
    topics, states = cluster.topics(), cluster.states()
    assert {partition[0] for partition in states} <= set(topics), "nothing is left of deleted topics"
    assert not cluster.key_space.list(keys.STEERING_PARTITIONS).items or not usable or has_stuck_orders(cluster)
    led = {
        partition: state
        for partition, state in states.items()
        if state.life is not PartitionLife.GONE and state.leader in state.isr
    }
    for topic in topics.values():
        if usable:
            assert all((topic.id, number) in states for number in range(topic.partitions))
    for (topic_id, _), state in led.items():
        if cluster.key_space.get(keys.partition_order(topic_id, state.partition)) is not None:
            continue
        factor = topics[topic_id].replication_factor
        if len(usable) >= factor:
            drained = [node for node in state.replicas if membership.get(node).is_draining]
            assert not drained, "drained nodes are empty"
            assert len(state.replicas) == factor
            assert not state.is_moving
        assert set(state.isr) == set(state.replicas)
        if membership.get(state.replicas[0]).is_usable:
            assert state.leader == state.replicas[0], "the preferred one leads"
        cluster_log = cluster.logs[topic_id, state.partition]
        assert cluster_log.held[state.leader] >= cluster_log.committed
    cluster.new_controller()
    assert cluster.control() == 0, "a new controller finds nothing to do"


def has_stuck_orders(cluster: PlannedCluster) -> bool:
    """Orders wait for nodes that are drained or leaving, and for partitions without a leader."""
    for item in cluster.key_space.list(keys.STEERING_PARTITIONS).items:
        topic_id, _, number = item.key.removeprefix(keys.STEERING_PARTITIONS).partition("/")
        state = cluster.states().get((topic_id, int(number)))
        order = cluster.image.catalog.get(topic_id)
        assert order is not None
        wanted = order.orders[int(number)].replicas
        is_unusable = any(not cluster.image.membership.get(node).is_usable for node in wanted)
        if state is not None and state.leader in state.isr and not is_unusable:
            return False
    return True


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, NODES_MAX),
    st.lists(st.tuples(st.integers(1, 12), st.integers(1, 3)), min_size=1, max_size=5),
    st.integers(0, 3),
    st.integers(0, 10),
)
def test_without_racks_loads_differ_by_one_at_most(
    nodes: int, topics: list[tuple[int, int]], more_nodes: int, deleted: int
) -> None:
    cluster = built(nodes, 0, [(partitions, replicas, 1) for partitions, replicas in topics])
    assert spread(cluster) <= 1, "new topics are placed evenly"
    for node in range(more_nodes):
        cluster.start(100 + node)
    if deleted < len(topics) > 1:
        topic = cluster.topics()[f"id-t{deleted}"]
        cluster.write(Delete(keys.topic(topic.name)), Put(keys.tombstone(topic.id), encode(Tombstone(topic.id, "", 0))))
    cluster.settle()
    assert spread(cluster) <= 1, "and stay so, or become so again"
    leaders = Counter(state.replicas[0] for state in cluster.states().values())
    assert spread_of(leaders, cluster) <= 1 or any(replicas == 1 for _, replicas in topics)
    check_the_end(cluster)


def spread(cluster: PlannedCluster) -> int:
    return spread_of(Counter(node for state in cluster.states().values() for node in state.replicas), cluster)


def spread_of(loads: Counter[int], cluster: PlannedCluster) -> int:
    counts = [loads[node] for node in cluster.machines]
    return max(counts) - min(counts)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=NODES_MAX),
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 4)), min_size=1, max_size=3),
    st.integers(0, NODES_MAX),
)
def test_replicas_share_racks_only_where_they_must(
    racks: list[int], topics: list[tuple[int, int]], drained: int
) -> None:
    cluster = PlannedCluster()
    for node, rack in enumerate(racks, start=1):
        cluster.start(node, rack=f"rack {rack}")
    for number, (partitions, replicas) in enumerate(topics):
        cluster.create(f"t{number}", partitions=partitions, replicas=replicas)
    cluster.control()
    if drained in cluster.machines and len(racks) > 1:
        cluster.drain(drained)
        cluster.settle()
        cluster.undrain(drained)
    cluster.settle()
    placement = ReplicaPlacement(cluster.image.membership)
    for state in cluster.states().values():
        assert placement.shared_racks(state.replicas) == placement.fewest_shared_racks(len(state.replicas))
    check_the_end(cluster)
