"""How much a group has to do, and how many consumers that takes, for autoscalers: by what leaders say of its progress.

A look costs as much as that of the group's offsets and stores nothing: it may be repeated every few seconds.
"""

from app.auth.principal import Principal
from app.calls.demand import DemandQuery, DemandView
from app.gateway.dependencies import Gateway
from app.services.catalog import Catalog
from app.services.group_pace import Ends, GroupPaces
from app.services.group_views import position_of, progress_view
from app.services.groups import AskedPlace, GroupService
from app.services.membership import GroupMembership
from app.services.workload import Workload, suggested_consumers
from cluster.errors import ServerError
from cluster.model.pauses import is_paused
from cluster.model.values import Group, GroupMode, StartPosition

CONSUMERS_MAX = 1_000
"""Of a node; a group that has more of them counts as one of so many."""


class DemandService:
    def __init__(self, gateway: Gateway, catalog: Catalog, groups: GroupService, membership: GroupMembership) -> None:
        self._clock = gateway.clock
        self._catalog = catalog
        self._groups = groups
        self._membership = membership
        self._paces = GroupPaces()

    async def demand(self, name: str, query: DemandQuery, principal: Principal) -> DemandView:
        """Raises ServerError: GROUP_NOT_FOUND, TOPIC_NOT_FOUND, and why nothing is known where that is so of all."""
        principal.require_progress_of(name)
        group = await self._catalog.group(name)
        answered = await self._groups.ask_positions(group, query.topics, principal, consumers_max=CONSUMERS_MAX)
        faults = [each.answer for each in answered if isinstance(each.answer, ServerError)]
        if faults and len(faults) == len(answered):
            raise faults[0]
        load, view = Workload(is_partial=bool(faults)), _empty_view(group, len(faults))
        ends: dict[tuple[str, int], Ends] = {}
        consumers: set[str] = set()
        partitions = 0
        for each in answered:
            if isinstance(each.answer, ServerError):
                continue
            may_deliver = not is_paused(group.pauses, each.topic.id, each.partition)
            partitions += may_deliver
            position = position_of(group, each.answer)
            if position is None:
                _count_unread(each, group, load, view, is_named=bool(query.topics), may_deliver=may_deliver)
                continue
            consumers.update(position.consumers)
            done = position.progress + position.done_above
            ends[each.topic.id, each.partition] = Ends(each.answer.high_watermark, done - position.lost)
            _count(each, group, load, view, may_deliver=may_deliver)
        pace = self._paces.look((group.id, *sorted(query.topics)), ends, self._clock.monotonic_ms())
        if pace is not None:
            view.arrivals_per_second, view.settled_per_second = round(pace.arrivals, 3), round(pace.settled, 3)
            load.settled_per_second = pace.settled
        view.consumers = load.consumers = await self._consumers(group, consumers)
        if group.mode is GroupMode.EXCLUSIVE:
            load.consumers_max = partitions
        view.oldest_age_seconds = load.oldest_age_ms / 1000
        view.suggested_consumers = suggested_consumers(load, target_lag=query.target_lag, target_s=query.target_s)
        return view

    async def _consumers(self, group: Group, seen: set[str]) -> int:
        if group.mode is not GroupMode.EXCLUSIVE:
            return len(seen)
        return len((await self._membership.members(group)).members)


def _empty_view(group: Group, unknown: int) -> DemandView:
    return DemandView(group.name, group.mode, 0, 0, 0, 0, 0, 0.0, None, None, 0, None, unknown)


def _count(place: AskedPlace, group: Group, load: Workload, view: DemandView, *, may_deliver: bool) -> None:
    progress = progress_view(place.topic, place.partition, place.answer, group)
    assert progress is not None
    lag, in_flight = progress.lag or 0, progress.in_flight or 0
    delayed, blocked = progress.delayed or 0, progress.blocked or 0
    view.lag += lag
    view.in_flight += in_flight
    view.delayed += delayed
    view.blocked += blocked
    load.in_flight += in_flight
    load.oldest_age_ms = max(load.oldest_age_ms, progress.oldest_age_ms or 0)
    if may_deliver:
        waiting = max(0, lag - in_flight - delayed - blocked)
        load.waiting += waiting
        view.waiting += waiting


def _count_unread(
    place: AskedPlace, group: Group, load: Workload, view: DemandView, *, is_named: bool, may_deliver: bool
) -> None:
    """A partition that the group has not begun to read. Where its topic is named, what it will find there counts: with
    nobody there it would never begin."""
    begins_at_the_earliest = group.settings.start_position is StartPosition.EARLIEST
    if isinstance(place.answer, ServerError) or not (is_named and may_deliver and begins_at_the_earliest):
        return
    lag = max(0, place.answer.high_watermark - place.answer.log_start)
    view.lag += lag
    view.waiting += lag
    load.waiting += lag
