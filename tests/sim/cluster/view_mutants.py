"""Planted bugs of the latest values of keys: `tests.sim.cluster.mutants` has them all."""

from collections.abc import Callable
from typing import Any

import pytest

from app.services.tables import TableService
from cluster.model.values import Topic
from storage.node.table import table_keeper
from storage.node.table.table_keeper import TableKeeper
from storage.table.table_index import NOWHERE


def indexes_are_brought_up_now_and_then(patch: pytest.MonkeyPatch) -> None:
    """Who asks is answered by what is in the index, once something is."""
    original = TableKeeper._catch_up

    async def catch_up(self: TableKeeper, topic: Topic, until: int) -> None:
        if self._state.applied == 0:
            await original(self, topic, until)

    patch.setattr(TableKeeper, "_catch_up", catch_up)


def tombstones_are_not_taken_over(patch: pytest.MonkeyPatch) -> None:
    """What they take away is answered again."""
    original = table_keeper._take_in

    class Deaf:
        """An index that hears of no tombstone."""

        def __init__(self, index: Any) -> None:
            self._index = index

        def apply(self, latest: dict[bytes, int], state: Any) -> None:
            self._index.apply({digest: at for digest, at in latest.items() if at != NOWHERE}, state)

    def take_in(index: Any, *arguments: Any, **options: Any) -> None:
        original(Deaf(index), *arguments, **{**options, "keeps_tombstones": False})

    patch.setattr(table_keeper, "_take_in", take_in)


def keys_are_asked_for_where_they_were(patch: pytest.MonkeyPatch) -> None:
    """After a topic has grown, what is oldest counts: where a key was before goes before where it is."""
    original = TableService._age

    def age(self: TableService, topic: Topic, partition: int, found: Any) -> tuple[int, int]:
        mapping, append_ms = original(self, topic, partition, found)
        return (mapping, append_ms) if mapping < 0 else (topic.mapping - mapping, append_ms)

    patch.setattr(TableService, "_age", age)


VIEW_MUTANTS: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    indexes_are_brought_up_now_and_then,
    tombstones_are_not_taken_over,
    keys_are_asked_for_where_they_were,
)
