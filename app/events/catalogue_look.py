"""What a gateway's own copy of the catalogue says of topics, partitions and nodes, as things for watchers. Pure."""

from collections import Counter, OrderedDict
from collections.abc import Iterator

import msgspec

from app.events.change_table import ChangeTable
from app.events.thing import ThingKey, ThingKind
from cluster.controller.progress import PartitionTrouble, lacks
from cluster.metadata.membership import Membership
from cluster.metadata.metadata_view import MetadataView
from cluster.model.internal_topics import is_internal
from cluster.model.values import NO_LEADER, PartitionLife, PartitionState, Topic

PARTITIONS_AT_ONCE = 500
"""Between two turns of others."""
PARTITIONS_SHOWN_MAX = 1_000

_encode = msgspec.json.Encoder().encode
_Standing = tuple[PartitionTrouble | None, int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]


class CatalogueLook:
    """`counts` are those of the last look that was completed, by the names that the totals have for them."""

    def __init__(self, table: ChangeTable, *, partitions_shown_max: int = PARTITIONS_SHOWN_MAX) -> None:
        self._table = table
        self._shown_max = partitions_shown_max
        self._shown: OrderedDict[tuple[str, int], None] = OrderedDict()
        self._standings: dict[str, dict[int, _Standing]] = {}
        self._replicas: Counter[int] = Counter()
        self._leaders: Counter[int] = Counter()
        self._has_looked = False
        self.counts: Counter[str] = Counter()
        self.topics: dict[str, Topic] = {}
        """By id, Acklog's own left out."""
        self.places: list[tuple[str, int]] = []
        """Their partitions that somebody leads."""

    def steps(self, metadata: MetadataView) -> Iterator[None]:
        """Look at all. Yields where others may have their turn; what changes meanwhile is seen the next time."""
        membership = metadata.steering.membership.copy()
        topics = metadata.topics()
        counts: Counter[str] = Counter()
        replicas: Counter[int] = Counter()
        leaders: Counter[int] = Counter()
        places: list[tuple[str, int]] = []
        seen = 0
        for topic in topics:
            states = metadata.partitions(topic.id)
            for state in states:
                if state.life is PartitionLife.GONE:
                    continue
                replicas.update(state.replicas)
                leaders[state.leader] += 1
                self._look(topic, state, membership, counts)
                if state.leader != NO_LEADER and not is_internal(topic.name):
                    places.append((topic.id, state.partition))
                seen += 1
                if not seen % PARTITIONS_AT_ONCE:
                    yield
        self.topics = {topic.id: topic for topic in topics if not is_internal(topic.name)}
        self._forget_gone(metadata)
        self.counts, self.places = counts, places
        self._replicas, self._leaders = replicas, leaders
        self._has_looked = True

    def look_at_nodes(self, membership: Membership) -> None:
        """There are few: done in each interval, as operators' wishes for nodes are told to no listener."""
        found: set[int] = set()
        for node in sorted({*self._replicas, *(each.node_id for each in membership.members())}):
            member = membership.get(node)
            if not (member.is_live or member.is_draining or self._replicas[node]):
                continue
            found.add(node)
            registration = member.registration
            view = {
                "node": node,
                "address": "" if registration is None else registration.address,
                "rack": "" if registration is None else registration.rack,
                "live": member.is_live,
                "draining": member.is_draining,
                "leaving": member.is_leaving,
                "replicas": self._replicas[node],
                "leaders": self._leaders[node],
            }
            self._table.put(ThingKey(ThingKind.NODES, number=node), _encode(view))
        for key in [key for key in self._table.keys(ThingKind.NODES) if key.number not in found]:
            self._table.remove(key)

    def _look(self, topic: Topic, state: PartitionState, membership: Membership, counts: Counter[str]) -> None:
        counts["partitions"] += not is_internal(topic.name)
        troubles = lacks(topic, state, membership)
        counts.update(each.value for each in troubles)
        counts["moving"] += state.is_moving
        trouble = troubles[0] if troubles else None
        standing = (
            trouble, state.leader, state.leader_epoch, state.replicas, state.isr, state.adding, state.removing
        )  # fmt: skip
        known = self._standings.setdefault(topic.id, {})
        before = known.get(state.partition)
        if standing == before:
            return
        known[state.partition] = standing
        if trouble is not None or state.is_moving or (self._has_looked and before is not None):
            self._show(topic, state, trouble)

    def _show(self, topic: Topic, state: PartitionState, trouble: PartitionTrouble | None) -> None:
        moving = None
        if state.is_moving:
            before = [node for node in state.replicas if node not in state.adding]
            waiting_for = [node for node in state.adding if node not in state.isr]
            moving = {"from": before, "to": list(state.target), "waitingFor": waiting_for}
        view = {
            "topic": topic.name,
            "partition": state.partition,
            "leader": None if state.leader == NO_LEADER else state.leader,
            "leaderEpoch": state.leader_epoch,
            "replicas": state.replicas,
            "inSync": state.isr,
            "trouble": trouble,
            "moving": moving,
        }
        place = topic.name, state.partition
        self._table.put(ThingKey(ThingKind.PARTITIONS, topic.name, number=state.partition), _encode(view))
        self._shown[place] = None
        self._shown.move_to_end(place)
        if len(self._shown) > self._shown_max:
            (name, number), _ = self._shown.popitem(last=False)
            self._table.remove(ThingKey(ThingKind.PARTITIONS, name, number=number))

    def _forget_gone(self, metadata: MetadataView) -> None:
        for topic_id in [each for each in self._standings if metadata.topic_by_id(each) is None]:
            del self._standings[topic_id]
        for name, number in [each for each in self._shown if metadata.topic(each[0]) is None]:
            del self._shown[name, number]
            self._table.remove(ThingKey(ThingKind.PARTITIONS, name, number=number))
