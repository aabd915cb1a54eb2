"""Planted bugs of filters: `tests.sim.cluster.mutants` has them all."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from acklog.filters.comparisons import TagIn
from acklog.wire.record import tag_bit
from cluster.model.values import Group
from storage.delivery.candidates import CandidateIndex, CandidateKind, CandidateRun, WantedRange
from storage.delivery.group_delivery import GroupDelivery
from storage.delivery.records import Skipped, pack_offsets
from storage.delivery.seeing_selection import Look
from storage.node import log_calls
from storage.node.filtered_reads import FilteredRead
from storage.node.groups.delivery_host import DeliveryHost
from storage.node.groups.lease_finder import LeaseFinder
from storage.node.groups.partition_groups import PartitionGroups


def calls_pass_over_the_rest(patch: pytest.MonkeyPatch) -> None:
    """What a call's own filter does not match is done for its group."""

    original = LeaseFinder.find_matching

    async def find_matching(self: LeaseFinder, group: GroupDelivery, *more: Any, **filters: Any) -> Any:
        found = await original(self, group, *more, **filters)
        for lease in found[0][:1]:
            state = group.state
            before = range(state.progress.progress, lease.offset)
            left = [each for each in before if not state.is_out(each) and state.passed_until(each) is None]
            for each in left:
                state.skipping.add(each, each + 1)
            self._delivery.write(Skipped(group.group_id, group.generation, pack_offsets(left)))
        return found

    patch.setattr(LeaseFinder, "find_matching", find_matching)


def what_is_passed_over_is_volatile(patch: pytest.MonkeyPatch) -> None:
    """R41: progress passes it before a record says so."""
    original_write, original_commit = DeliveryHost.write, DeliveryHost.commit

    def write(self: DeliveryHost, record: Any) -> None:
        if isinstance(record, Skipped):
            self._apply([record])
        else:
            original_write(self, record)

    async def commit(self: DeliveryHost, record: Any) -> None:
        if isinstance(record, Skipped):
            self._apply([record])
        else:
            await original_commit(self, record)

    patch.setattr(DeliveryHost, "write", write)
    patch.setattr(DeliveryHost, "commit", commit)


def tag_bits_prove_too_much(patch: pytest.MonkeyPatch) -> None:
    """A batch in which one of several tags does not occur is passed without being looked at."""

    def may_be_true(self: TagIn, tag_bits: int) -> bool:
        return all(tag_bits & tag_bit(value) for value in self.values)

    patch.setattr(TagIn, "may_be_true", may_be_true)


def first_filters_stay(patch: pytest.MonkeyPatch) -> None:
    """A leader goes by the filter that it saw first."""
    original = PartitionGroups.receive
    first: dict[tuple[int, str], str | None] = {}

    async def receive(self: PartitionGroups, request: Any, group: Group, *more: Any) -> Any:
        text = first.setdefault((id(self), group.id), group.settings.filter)
        group = replace(group, settings=replace(group.settings, filter=text))
        return await original(self, request, group, *more)

    patch.setattr(PartitionGroups, "receive", receive)


def what_was_given_back_is_not_judged_again(patch: pytest.MonkeyPatch) -> None:
    """Another filter holds for what is fresh only."""
    original = Look.at_returned

    def at_returned(self: Look) -> Any:
        candidates, self._candidates = self._candidates, _EverythingMatches(self._candidates)  # type: ignore[assignment]
        try:
            return original(self)
        finally:
            self._candidates = candidates

    patch.setattr(Look, "at_returned", at_returned)


class _EverythingMatches:
    def __init__(self, candidates: CandidateIndex) -> None:
        self._candidates = candidates

    def run_at(self, offset: int, end: int) -> CandidateRun | WantedRange:
        run = self._candidates.run_at(offset, end)
        is_out = isinstance(run, CandidateRun) and run.kind is CandidateKind.FILTERED_OUT
        return replace(run, kind=CandidateKind.MESSAGE) if is_out else run


def full_pages_go_on_at_the_end(patch: pytest.MonkeyPatch) -> None:
    """A page of what matches that has no more room says that it has looked at everything."""
    original = log_calls.read_filtered

    async def read_filtered(*arguments: Any, until: int, **more: Any) -> FilteredRead:
        return FilteredRead((await original(*arguments, until=until, **more)).batches, until)

    patch.setattr(log_calls, "read_filtered", read_filtered)


FILTER_MUTANTS: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    calls_pass_over_the_rest,
    what_is_passed_over_is_volatile,
    tag_bits_prove_too_much,
    first_filters_stay,
    what_was_given_back_is_not_judged_again,
    full_pages_go_on_at_the_end,
)
