"""All that one run of a gateway's collector knows: what it has learnt, what is told of it, and whom it asks next.
Sans-IO."""

from collections.abc import Iterator, Mapping

from app.events.catalogue_look import CatalogueLook
from app.events.change_table import ChangeTable
from app.events.event_pages import PAGE_BYTES_MAX, EventPages
from app.events.look_turns import LookTurns, Place
from app.events.thing import ThingKey, ThingKind
from app.events.traffic_book import TopicTraffic, TrafficBook, summed
from app.events.traffic_things import group_text, topic_text, totals_text
from cluster.metadata.metadata_view import MetadataView
from storage.rpc.messages import PositionsResponse

PLACES_ASKED_MAX = 500
"""Partitions whose leaders are asked in one interval."""
PAIRS_MAX = 20_000
"""Pairs of group and topic that are shown."""
TOPICS_AT_ONCE = 200
"""Between two turns of others."""


class Survey:
    """`run` is its name in the ids of events."""

    def __init__(self, metadata: MetadataView, *, run: str, pairs_max: int = PAIRS_MAX) -> None:
        self._metadata = metadata
        self._pairs_max = pairs_max
        self._table = ChangeTable()
        self._look = CatalogueLook(self._table)
        self._book = TrafficBook()
        self._turns = LookTurns()
        self._traffic: dict[str, TopicTraffic] = {}
        self._pairs: dict[ThingKey, None] = {}
        self._counted: tuple[int, Mapping[str, int]] | None = None
        self._gateway: dict[str, float | None] = {}
        self._has_told = False
        self.pages = EventPages(self._table, run=run)

    def catalogue_steps(self) -> Iterator[None]:
        """Learn what the catalogue says. Yields where others may have their turn."""
        look = self._look
        yield from look.steps(self._metadata)
        self._turns.keep(look.places)
        self._book.forget_all_but(look.topics.get)
        self._traffic = {topic_id: each for topic_id, each in self._traffic.items() if topic_id in look.topics}
        self._forget_gone()
        for number, topic_id in enumerate(list(look.topics), 1):
            self._tell_of_topic(topic_id)
            if not number % TOPICS_AT_ONCE:
                yield
        look.counts["topics"] = len(look.topics)
        look.counts["groups"] = len(self._metadata.groups())

    def questions(self, now_ms: int) -> list[tuple[Place, str]]:
        """Whom to ask now, and for which group's oldest message."""
        return [(place, self._book.group_to_ask_of(place)) for place in self._turns.next(PLACES_ASKED_MAX, now_ms)]

    def learn(self, answers: list[tuple[Place, str, PositionsResponse]], *, at_ms: int) -> None:
        """What leaders have said at the monotonic time `at_ms`."""
        touched: dict[str, None] = {}
        for place, asked_of, answer in answers:
            is_busy = self._book.note(place, answer, asked_of=asked_of, at_ms=at_ms)
            self._turns.note(place, is_busy=is_busy)
            touched[place[0]] = None
        for topic_id in touched:
            self._traffic[topic_id] = self._book.topic(topic_id)
            self._tell_of_topic(topic_id)

    def count(self, counted: Mapping[str, int], *, at_ms: int) -> None:
        """What this gateway has done since its start: `…PerSecond` by name."""
        before, self._counted = self._counted, (at_ms, dict(counted))
        apart_ms = 0 if before is None else at_ms - before[0]
        self._gateway = {
            name: None if before is None or not apart_ms else max(0, count - before[1][name]) * 1000 / apart_ms
            for name, count in counted.items()
        }

    def tell(self, *, now_ms: int, interval_ms: int) -> None:
        """Have watchers told of what was learnt: all of it at first, later as much as has room in an interval."""
        self._look.look_at_nodes(self._metadata.steering.membership)
        traffic, groups = summed(self._traffic.values())
        text = totals_text(
            self._look.counts, traffic, groups, round_ms=self._turns.round_ms, gateway=dict(self._gateway)
        )
        self._table.put(ThingKey(ThingKind.TOTALS), text)
        self._table.flush(bytes_max=PAGE_BYTES_MAX * 3 // 4 if self._has_told else None)
        self._has_told = True
        self.pages.time_ms, self.pages.interval_ms = now_ms, interval_ms
        self.pages.is_complete = len(self._pairs) < self._pairs_max

    def _tell_of_topic(self, topic_id: str) -> None:
        topic = self._look.topics.get(topic_id)
        if topic is None:
            return
        traffic = self._traffic.get(topic_id) or TopicTraffic()
        self._table.put(ThingKey(ThingKind.TOPICS, topic.name), topic_text(topic, traffic))
        for group_id, of_group in traffic.groups.items():
            group = self._metadata.group_by_id(group_id)
            if group is None:
                continue
            key = ThingKey(ThingKind.GROUPS, topic.name, group.name)
            if key in self._pairs or len(self._pairs) < self._pairs_max:
                self._pairs[key] = None
                self._table.put(key, group_text(group, topic, of_group))

    def _forget_gone(self) -> None:
        names = {topic.name for topic in self._look.topics.values()}
        for key in list(self._table.keys(ThingKind.TOPICS)):
            if key.topic not in names:
                self._table.remove(key)
        for key in list(self._pairs):
            if key.topic not in names or self._metadata.group(key.group) is None:
                del self._pairs[key]
                self._table.remove(key)
