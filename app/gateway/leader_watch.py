"""Waking whoever waits for a partition, or for topics, to be led by somebody else."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from cluster.metadata.metadata_view import MetadataView
from cluster.model.values import PartitionState

CHECK_DELAY_MS = 5
"""A failed node's partitions get their leaders in many small steps: they are looked at together."""

_Place = TypeVar("_Place")
_View = TypeVar("_View")


class ViewWatch(Generic[_Place, _View]):
    """A context in which `wake` is called when there is news, at once if there is some already; perhaps repeatedly."""

    __slots__ = ("_is_news", "_wake", "_watches", "place")

    def __init__(
        self,
        watches: "_Watches[_Place, _View]",
        place: _Place,
        is_news: Callable[[_View], bool],
        wake: Callable[[], None],
    ) -> None:
        self.place = place
        self._watches = watches
        self._is_news = is_news
        self._wake = wake

    def __enter__(self) -> None:
        self._watches.add(self)

    def __exit__(self, *_: object) -> None:
        self._watches.remove(self)

    def show(self, view: _View) -> None:
        if self._is_news(view):
            self._wake()


class _Watches(Generic[_Place, _View]):
    """Those of one kind. `look` is done once per place, however many wait there."""

    def __init__(self, look: Callable[[_Place], _View]) -> None:
        self._look = look
        self._by_place: dict[_Place, dict[ViewWatch[_Place, _View], None]] = {}

    def __len__(self) -> int:
        return len(self._by_place)

    def add(self, watch: ViewWatch[_Place, _View]) -> None:
        self._by_place.setdefault(watch.place, {})[watch] = None
        watch.show(self._look(watch.place))

    def remove(self, watch: ViewWatch[_Place, _View]) -> None:
        watches = self._by_place[watch.place]
        del watches[watch]
        if not watches:
            del self._by_place[watch.place]

    def show_all(self) -> None:
        for place, watches in list(self._by_place.items()):
            view = self._look(place)
            for watch in list(watches):
                watch.show(view)


class LeaderWatch:
    """Follows the metadata view for as long as that lives. Made by `following`."""

    def __init__(self, metadata: MetadataView) -> None:
        """For `following` only."""
        self._metadata = metadata
        self._partitions = _Watches(self._state)
        self._topics = _Watches(self.leaders)
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    def following(cls, metadata: MetadataView) -> "LeaderWatch":
        watch = cls(metadata)
        metadata.subscribe(watch._metadata_changed)
        return watch

    def partition(
        self, topic_id: str, number: int, *, leader_epoch: int, wake: Callable[[], None]
    ) -> ViewWatch[tuple[str, int], PartitionState | None]:
        """Wake when the partition has a leader of a later epoch than this one."""
        return ViewWatch(self._partitions, (topic_id, number), lambda state: is_led_since(state, leader_epoch), wake)

    def topics(
        self, topic_ids: tuple[str, ...], *, leaders: list[int], wake: Callable[[], None]
    ) -> ViewWatch[tuple[str, ...], list[int]]:
        """Wake when other nodes than these lead the topics, and at least one does."""
        return ViewWatch(self._topics, topic_ids, lambda found: found not in ([], leaders), wake)

    def leaders(self, topic_ids: tuple[str, ...]) -> list[int]:
        """The nodes that lead some partition of these topics, by number."""
        states = [state for topic_id in topic_ids for state in self._metadata.partitions(topic_id)]
        return sorted({state.leader for state in states if state.leader >= 0})

    def _state(self, place: tuple[str, int]) -> PartitionState | None:
        return self._metadata.partition(*place)

    def _metadata_changed(self) -> None:
        if self._timer is None and (len(self._partitions) or len(self._topics)):
            self._timer = asyncio.get_running_loop().call_later(CHECK_DELAY_MS / 1000, self._show)

    def _show(self) -> None:
        self._timer = None
        self._partitions.show_all()
        self._topics.show_all()


def is_led_since(state: PartitionState | None, leader_epoch: int) -> bool:
    """Whether somebody leads the partition in a later epoch than this one."""
    return state is not None and state.leader >= 0 and state.leader_epoch > leader_epoch
