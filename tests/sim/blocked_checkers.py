"""Invariants of groups that block: what failed too often waits for a person, and holds up what its order puts behind it
and nobody else."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from cluster.model.values import GroupMode
from tests.sim.checkers import LeasePlace, final_log, lease_place_of
from tests.sim.decisions import Decisions
from tests.sim.delivery_checkers import is_done, last_ends_that_went_well, lost_answers, was_passed_over
from tests.sim.filters_in_force import FiltersInForce
from tests.sim.history import (
    BlockedListed,
    DecidersRested,
    Delivered,
    Faulted,
    History,
    MappingBegan,
    Outcome,
    ReadRecord,
    Sent,
    Settled,
)
from tests.sim.options import LastingFault, OrderedGroup
from tests.sim.seeks import GroupPlace, Seeks
from tests.sim.unnoticed import Unnoticed


class WhatIsBlockedWaits:
    """8. After a group said that a message is blocked, nobody gets it, nor what is behind it in its key (or, in an
    exclusive group, its partition), before somebody may have released or skipped it, acknowledged it, or sought."""

    def __init__(self, groups: Mapping[str, OrderedGroup], *, unnoticed_ms: float = 0) -> None:
        self._groups = groups
        self._unnoticed_ms = unnoticed_ms

    def check(self, history: History) -> list[str]:
        listed: dict[GroupPlace, dict[int, list[BlockedListed]]] = defaultdict(lambda: defaultdict(list))
        for each in _sure(history):
            if each.group in self._groups:
                listed[each.group, each.queue, each.partition][each.offset].append(each)
        key_of = keys_of(history)
        ways_out = _WaysOut(history)
        unnoticed = Unnoticed(history, unnoticed_ms=self._unnoticed_ms)
        return [
            f"{lease_place_of(delivered)} was delivered to {delivered.consumer} at {delivered.began_ms}, and offset "
            f"{blocked.offset} was blocked at {blocked.began_ms}"
            for delivered in history.of(Delivered)
            for blocked in self._in_front_of(delivered, listed.get(lease_place_of(delivered)[:3], {}), key_of)
            if not ways_out.is_one_between(blocked, delivered) and not unnoticed.may_explain(delivered)
        ]

    def _in_front_of(
        self, delivered: Delivered, listed: Mapping[int, list[BlockedListed]], key_of: Mapping[str, str | None]
    ) -> Iterator[BlockedListed]:
        """The last word about each message that may hold it up."""
        for offset, found in listed.items():
            if offset <= delivered.offset:
                before = [each for each in found if each.ended_ms < delivered.began_ms]
                if before and is_held_by(self._groups, delivered.offset, key_of.get(delivered.uid), before[-1]):
                    yield before[-1]


class NothingIsGivenUp:
    """A group that blocks has no dead letters, nor has one whose messages come back for ever."""

    def __init__(self, groups: Iterable[str], *, dead_letter_queues: Mapping[tuple[str, str], str]) -> None:
        self._queues = {queue for (group, _), queue in dead_letter_queues.items() if group in frozenset(groups)}

    def check(self, history: History) -> list[str]:
        return [
            f"{record.uid} is in {queue}, and its group gives up nothing"
            for (queue, _), records in final_log(history).items()
            if queue in self._queues
            for record in records
        ]


class OthersGoOn:
    """13. While nobody decided, and nothing went wrong any more, all was done but what is blocked and what it holds
    up."""

    def __init__(
        self, groups: Mapping[str, OrderedGroup], *, dead_letter_queues: Mapping[tuple[str, str], str]
    ) -> None:
        self._groups = groups
        self._places = [place for place in dead_letter_queues if place[0] in groups]

    def check(self, history: History) -> list[str]:
        return [complaint for rested in history.of(DecidersRested) for complaint in self._left_undone(history, rested)]

    def _left_undone(self, history: History, rested: DecidersRested) -> Iterator[str]:
        until_then = history.where(lambda event: event.began_ms <= rested.ended_ms)
        ends_ms, seeks, lost = last_ends_that_went_well(until_then), Seeks(until_then), lost_answers(until_then)
        key_of, log, walls, filters = keys_of(history), final_log(history), _Walls(history), FiltersInForce(until_then)
        blocked = [each for each in until_then.of(BlockedListed) if each.began_ms >= rested.began_ms]
        for group, queue in self._places:
            left: list[tuple[LeasePlace, ReadRecord]] = []
            for (name, partition), records in log.items():
                holding = [each for each in blocked if (each.group, each.partition) == (group, partition)]
                left += [
                    (place, record)
                    for record in records
                    if name == queue
                    and not is_done(place := (group, queue, partition, record.offset), ends_ms, seeks)
                    and not was_passed_over(place, record.uid, filters, seeks)
                    and not any(is_held_by(self._groups, record.offset, key_of.get(record.uid), by) for by in holding)
                    and not any(walls.hold_up(place, by) for by in blocked if (by.group, by.queue) == (group, queue))
                ]
            for place, record in left[lost[group, queue] :]:
                yield f"{place}, {record.uid}, was not done by {rested.ended_ms}, and nothing blocked is before it"


class _Walls:
    """What was stored after the partitions of a topic had changed waits for what was before, in all other partitions;
    and so does, behind the next change, what is in the same one."""

    def __init__(self, history: History) -> None:
        self._starts: dict[tuple[str, int], list[MappingBegan]] = defaultdict(list)
        for began in history.of(MappingBegan):
            self._starts[began.queue, began.partition].append(began)

    def hold_up(self, place: LeasePlace, blocked: BlockedListed) -> bool:
        _, queue, partition, offset = place
        behind = [each.mapping for each in self._starts[queue, blocked.partition] if each.offset > blocked.offset]
        if not behind:
            return False
        first = min(behind) + (partition == blocked.partition)
        return any(each.mapping >= first and each.offset <= offset for each in self._starts[queue, partition])


class _WaysOut:
    """How what is blocked may stop to be so."""

    def __init__(self, history: History) -> None:
        self._decisions = Decisions(history)
        self._seeks = Seeks(history)
        self._acks: dict[LeasePlace, list[Settled]] = defaultdict(list)
        for settled in history.of(Settled):
            if settled.action == "ack" and settled.outcome is not Outcome.FAILED:
                self._acks[lease_place_of(settled)].append(settled)

    def is_one_between(self, blocked: BlockedListed, delivered: Delivered) -> bool:
        place = (blocked.group, blocked.queue, blocked.partition, blocked.offset)
        after_ms, before_ms = blocked.began_ms, delivered.ended_ms
        if self._decisions.may_be_between(place, after_ms=after_ms, before_ms=before_ms):
            return True
        if self._seeks.between(place[:3], after_ms, before_ms):
            return True
        return any(
            ack.began_ms <= before_ms and (ack.ended_ms >= after_ms or ack.outcome is Outcome.UNKNOWN)
            for ack in self._acks[place]
        )


def keys_of(history: History) -> dict[str, str | None]:
    """By the messages' uids."""
    return {sent.uid: sent.key for sent in history.of(Sent)}


def is_held_by(groups: Mapping[str, OrderedGroup], offset: int, key: str | None, blocked: BlockedListed) -> bool:
    """Whether a message of the partition waits for one that is blocked, or is it."""
    if offset <= blocked.offset or groups[blocked.group].mode is GroupMode.EXCLUSIVE:
        return offset >= blocked.offset
    return key is not None and key == blocked.key


def _sure(history: History) -> Iterator[BlockedListed]:
    """Without those of a time when a leader may not notice that it is none any more: what it says may be over."""
    fault = ""
    faults = sorted(history.of(Faulted), key=lambda each: each.began_ms, reverse=True)
    for listed in sorted(history.of(BlockedListed), key=lambda each: each.ended_ms):
        while faults and faults[-1].began_ms <= listed.ended_ms:
            fault = faults.pop().kind
        if fault != LastingFault.ISLAND_WITHOUT_STORE.value:
            yield listed
