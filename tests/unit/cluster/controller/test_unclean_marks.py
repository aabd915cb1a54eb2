"""The controller tells of each unclean election once (rule R9)."""

from msgspec.structs import replace
from structlog.testing import capture_logs

from cluster.controller.image import ClusterImage
from cluster.controller.unclean_marks import UncleanMarks
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.values import PartitionState, UncleanElection
from cluster.ports.coordination import Changed, Event, KeyValue, Put, Removed
from tests.support.controlled_cluster import ControlledCluster
from tests.support.manual_clock import settle

STATE = PartitionState("t", 0, (1, 2, 3), (1,), 1, 5, 8)


def marked(count: int, state: PartitionState = STATE) -> PartitionState:
    epoch = state.leader_epoch + 1
    mark = UncleanElection(count, epoch, 1, 40, 90, 1_000)
    return replace(
        state, leader_epoch=epoch, partition_epoch=state.partition_epoch + 1, isr=(1,), unclean_election=mark
    )


def item(state: PartitionState) -> KeyValue:
    return KeyValue(keys.partition(state.topic_id, state.partition), encode(state), 1, 1, 0)


class Watch:
    """One term's marks, and the image that they are seen in."""

    def __init__(self, *states: PartitionState) -> None:
        self.marks = UncleanMarks()
        self.list(*states)

    def list(self, *states: PartitionState) -> int:
        self.image = ClusterImage([item(state) for state in states], revision=1)
        with capture_logs() as logs:
            self.marks.listed(self.image)
        return len(logs)

    def see(self, event: Event) -> int:
        with capture_logs() as logs:
            self.image.apply(event)
            self.marks.changed(event, self.image)
        return len(logs)


def test_each_is_told_once() -> None:
    watch = Watch(STATE)
    assert watch.see(Changed(item(STATE))) == 0
    assert watch.see(Changed(item(marked(1)))) == 1
    assert watch.see(Changed(item(marked(1)))) == 0, "another change of the partition"
    assert watch.see(Changed(item(marked(2)))) == 1


def test_what_an_earlier_controller_told_is_not_told_again() -> None:
    watch = Watch(marked(1))
    assert watch.see(Changed(item(marked(1)))) == 0
    assert watch.see(Changed(item(marked(2)))) == 1


def test_one_that_came_between_two_listings_is_told() -> None:
    watch = Watch(STATE)
    assert watch.list(marked(1)) == 1
    assert watch.list(marked(1)) == 0


def test_other_keys_and_partitions_that_are_gone_are_left_alone() -> None:
    watch = Watch(marked(1))
    assert watch.see(Changed(KeyValue("/acklog/topics/orders", b"{", 1, 1, 0))) == 0
    assert watch.see(Changed(KeyValue("/acklog/partitions/t/what", b"{", 1, 1, 0))) == 0
    assert watch.see(Removed(keys.partition("t", 0), 2)) == 0
    assert watch.see(Changed(item(marked(1)))) == 1, "another partition of the name"


async def test_the_controller_says_so() -> None:
    cluster = await ControlledCluster.open()
    for node_id in (1, 2, 3):
        await cluster.start_node(node_id)
    topic = await cluster.create("orders")
    state = await cluster.state(topic)
    with capture_logs() as logs:
        await cluster.store.transact([], [Put(keys.partition(topic.id, 0), encode(marked(1, state)))])
        await settle(50)
    [told] = [entry for entry in logs if entry["event"] == "partition_elected_unclean"]
    assert (told["topic_id"], told["partition"], told["node"]) == (topic.id, 0, 1)
    assert (told["log_end"], told["lost_below"], told["log_level"]) == (40, 90, "error")
    await cluster.close()
