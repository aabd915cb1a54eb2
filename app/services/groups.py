"""Administration of groups, and of their progress."""

from typing import NamedTuple
from urllib.parse import quote

import msgspec

from acklog.wire.names import namespace_of
from acklog.wire.problems import ProblemCode
from app.auth.common_patterns import common_patterns
from app.auth.principal import Principal
from app.calls.group_modes import check_mode
from app.calls.groups import (
    GroupFields,
    GroupListing,
    GroupSettingsFields,
    GroupView,
    OffsetsView,
    ProgressView,
)
from app.calls.mode_settings import check_mode_settings
from app.calls.names import check_name
from app.calls.problem_item import problem_item
from app.calls.same_namespace import check_same_namespace
from app.gateway.dependencies import Gateway
from app.gateway.routing import PartitionLeaders
from app.services.catalog import Catalog
from app.services.differences import Difference, differences, refuse_differences
from app.services.fan_out import ask_each
from app.services.group_views import group_view, position_of, progress_view
from app.services.log_ends import LogEnds
from app.services.members import MemberService
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.values import Group, GroupMode, GroupSettings, Topic
from storage.rpc.messages import PositionsResponse

PARTITIONS_ASKED_MAX = 10_000
DEAD_LETTER_SOURCES_MAX = 1_000
"""Patterns of topics that a group keeps of the token that chose its dead-letter topic."""


class AskedPlace(NamedTuple):
    """A partition, and what its leader says of it, or why it says nothing."""

    topic: Topic
    partition: int
    answer: PositionsResponse | ServerError


_Sources = tuple[str, ...] | msgspec.UnsetType | None


class GroupService:
    """Everything about groups but receiving: settings need the right to manage it, looking the one to look."""

    def __init__(
        self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders, ends: LogEnds, members: MemberService
    ) -> None:
        self._ends = ends
        self._members = members
        self._gateway = gateway
        self._catalog = catalog
        self._leaders = leaders

    async def create(self, name: str, fields: GroupFields, principal: Principal) -> tuple[GroupView, bool]:
        """Create the group; True when it was created, and not there with the settings that `fields` names.

        Raises ServerError GROUP_EXISTS (with others), WRONG_GROUP_MODE, INVALID_NAME, INVALID_FIELD.
        """
        principal.require_on_group(Action.MANAGE, name)
        check_name(name, field="group")
        changes = fields.settings or GroupSettingsFields()
        check_mode_settings(changes, fields.mode or GroupMode.SHARED)
        sources = _sources_of(name, changes, principal)
        existing = await self._catalog.latest_group(name)
        if existing is not None:
            _refuse_other_settings(existing, fields, sources)
            return self._view(existing, principal), False
        group = await self._gateway.groups.get_or_create(
            name,
            mode=fields.mode or GroupMode.SHARED,
            settings=changes.applied_to(GroupSettings()),
            dead_letter_sources=None if isinstance(sources, msgspec.UnsetType) else sources,
        )
        _refuse_other_settings(group, fields, sources)  # somebody else may have made it meanwhile
        await self._members.prepare(group)
        return self._view(group, principal), True

    async def update(self, name: str, fields: GroupFields, principal: Principal) -> GroupView:
        """Change what `fields` names of the group.

        Raises ServerError GROUP_NOT_FOUND, WRONG_GROUP_MODE, INVALID_FIELD, INVALID_NAME.
        """
        principal.require_on_group(Action.MANAGE, name)
        check_name(name, field="group")
        changes = fields.settings or GroupSettingsFields()
        sources = _sources_of(name, changes, principal)
        existing = await self._catalog.latest_group(name) or await self._catalog.group(name)
        if sources is not msgspec.UNSET:
            is_chosen = isinstance(changes.dead_letter_topic, str)
            actions = (Action.MANAGE, Action.RECEIVE) if is_chosen else (Action.MANAGE,)
            await self._require_what_it_reads(existing, principal, actions)
        check_mode(existing, fields.mode)
        check_mode_settings(changes, existing.mode)
        is_same = changes.applied_to(existing.settings) == existing.settings
        if is_same and sources in {msgspec.UNSET, existing.dead_letter_sources}:
            return self._view(existing, principal)
        if isinstance(changes.dead_letter_topic, str):
            await self._refuse_own_source(existing, changes.dead_letter_topic)
        updated = await self._gateway.groups.update(name, settings=changes.applied_to, dead_letter_sources=sources)
        return self._view(updated, principal)

    def list_page(self, principal: Principal, *, limit: int, after: str) -> GroupListing:
        principal.require_somewhere(Action.LOOK)
        found: list[GroupView] = []
        for group in self._gateway.metadata.groups():
            if group.name > after and principal.may_on_group(Action.LOOK, group.name):
                if len(found) == limit:
                    return GroupListing(found, found[-1].name)
                found.append(self._view(group, principal))
        return GroupListing(found)

    async def describe(self, name: str, principal: Principal) -> GroupView:
        """With the members of an exclusive group. Raises ServerError GROUP_NOT_FOUND."""
        principal.require_on_group(Action.LOOK, name)
        group = await self._catalog.group(name)
        view = self._view(group, principal)
        if group.mode is GroupMode.EXCLUSIVE:
            try:
                found = await self._members.members_of(group, principal)
            except ServerError as error:
                view.problem = problem_item(error)
            else:
                view.group_epoch, view.members = found.group_epoch, found.members
        return view

    async def delete(self, name: str, principal: Principal) -> None:
        """Raises ServerError GROUP_NOT_FOUND."""
        principal.require_on_group(Action.MANAGE, name)
        await self._catalog.group(name)
        await self._gateway.groups.delete(name)

    async def offsets(
        self, name: str, topic_names: list[str], principal: Principal, *, field: str = "topic"
    ) -> OffsetsView:
        """The group's progress, asked from the leaders. `field` is what names the topics. Raises ServerError."""
        principal.require_progress_of(name)
        group = await self._catalog.group(name)
        views: list[ProgressView] = []
        for each in await self.ask_positions(group, topic_names, principal, field=field):
            view = progress_view(each.topic, each.partition, each.answer, group)
            if view is not None:
                views.append(view)
        return OffsetsView(
            group.name,
            views,
            sum(view.lag or 0 for view in views),
            max((view.lag_ms or 0 for view in views), default=0),
            max((view.oldest_age_ms or 0 for view in views), default=0),
        )

    async def ask_positions(
        self,
        group: Group,
        topic_names: list[str],
        principal: Principal,
        *,
        field: str = "topic",
        consumers_max: int = 0,
    ) -> list[AskedPlace]:
        """What the leaders of these topics' partitions say, of all that the principal may see where none is named. The
        first of each leader says who receives for the group. Raises ServerError."""
        places = self._places(await self._topics(group, topic_names, principal, field))
        if len(places) > PARTITIONS_ASKED_MAX:
            detail = f"there are {len(places)} partitions, at most {PARTITIONS_ASKED_MAX} at a time: name topics"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field=field)
        answers = await self._positions(places, group.id, consumers_max)
        return [AskedPlace(*place, answer) for place, answer in zip(places, answers, strict=True)]

    def _view(self, group: Group, principal: Principal) -> GroupView:
        return group_view(group, self._gateway.metadata, principal)

    async def _require_what_it_reads(self, group: Group, principal: Principal, actions: tuple[Action, ...]) -> None:
        """Where a group's dead letters go, its messages go: who says where needs the rights on every topic that the
        group reads. Raises ServerError FORBIDDEN, also where that cannot be told, or UNAVAILABLE."""
        if all(map(principal.may_on_every_topic, actions)):
            return
        foreign = [
            topic
            for topic in self._catalog.topics()
            if namespace_of(topic.name) == namespace_of(group.name)
            and not all(principal.may_on_topic(action, topic.name) for action in actions)
        ]
        places = self._places(foreign)
        if len(places) > PARTITIONS_ASKED_MAX:
            detail = "there are too many topics to tell what the group reads: it takes a token for every topic"
            raise ServerError(ProblemCode.FORBIDDEN, detail, field="settings.deadLetterTopic")
        for answer in await self._positions(places):
            if isinstance(answer, ServerError):
                detail = "whether the group reads topics that the token is not for cannot be told now"
                raise ServerError(ProblemCode.UNAVAILABLE, detail)
            if position_of(group, answer) is not None:
                detail = "the group also reads topics that the token is not for"
                raise ServerError(ProblemCode.FORBIDDEN, detail, field="settings.deadLetterTopic")

    def _places(self, topics: list[Topic]) -> list[tuple[Topic, int]]:
        """Their partitions without those that are gone: nobody leads them, and nothing is left to read there."""
        return [
            (topic, number)
            for topic in topics
            for number in range(topic.partitions)
            if not self._leaders.is_gone(topic.id, number)
        ]

    async def _refuse_own_source(self, group: Group, name: str) -> None:
        """Letters of a topic never go to that topic: they would die there again. As far as it can be told now; what the
        group begins to read later has its letters in `<topic>.<group>.dlq`. Raises ServerError INVALID_FIELD."""
        topic = self._gateway.metadata.topic(name)
        if topic is None:
            return
        for answer in await self._positions(self._places([topic])):
            if not isinstance(answer, ServerError) and position_of(group, answer) is not None:
                detail = f"the group reads {name!r}, and dead letters cannot go to the topic that they come from"
                raise ServerError(ProblemCode.INVALID_FIELD, detail, field="settings.deadLetterTopic")

    async def _positions(
        self, places: list[tuple[Topic, int]], group_id: str = "", consumers_max: int = 0
    ) -> list[PositionsResponse | ServerError]:
        """What the leader of each partition says of every group, and of one how old it is what that has not done; or
        why it says nothing."""
        deadline_ms = self._leaders.deadline_in(self._gateway.settings.request_timeout_ms)
        asked_leaders: set[int] = set()

        async def positions(place: tuple[Topic, int]) -> PositionsResponse:
            topic, partition = place
            leader = self._leaders.leader_of(topic.id, partition)
            names_max = 0 if leader in asked_leaders else consumers_max
            asked_leaders.add(leader)
            return await self._ends.positions(
                topic.id, partition, deadline_ms=deadline_ms, group_id=group_id, consumers_max=names_max
            )

        return await ask_each(places, positions)

    async def _topics(self, group: Group, names: list[str], principal: Principal, field: str) -> list[Topic]:
        for name in names:
            check_same_namespace(group.name, name, field=field)
        if names:
            return [await self._catalog.topic(name, principal, Action.LOOK, field=field) for name in names]
        return self._catalog.topics_beside(group, principal, Action.LOOK)


def _sources_of(group_name: str, changes: GroupSettingsFields, principal: Principal) -> _Sources:
    """The topics that a change of the dead-letter topic is for, as no right goes further than the token's: those that
    it manages and receives from, as whoever says where letters go could read them there. UNSET where it is not changed.
    Raises ServerError FORBIDDEN, NAMESPACE_MISMATCH."""
    target = changes.dead_letter_topic
    if isinstance(target, msgspec.UnsetType):
        return msgspec.UNSET
    if target is None:
        return None
    principal.require_on_topic(Action.MANAGE, target)
    check_same_namespace(group_name, target, field="settings.deadLetterTopic")
    managed, received = principal.topic_patterns(Action.MANAGE), principal.topic_patterns(Action.RECEIVE)
    if len({*(managed or ()), *(received or ())}) > DEAD_LETTER_SOURCES_MAX:
        detail = f"the token has more than {DEAD_LETTER_SOURCES_MAX} patterns of topics: it takes one for every topic"
        raise ServerError(ProblemCode.FORBIDDEN, detail, field="settings.deadLetterTopic")
    patterns = common_patterns(managed, received)
    if patterns is not None and not patterns:
        detail = "dead letters are messages: the token has no right to receive from topics that it may manage"
        raise ServerError(ProblemCode.FORBIDDEN, detail, field="settings.deadLetterTopic")
    return patterns


def _refuse_other_settings(group: Group, fields: GroupFields, sources: _Sources) -> None:
    """Raises ServerError WRONG_GROUP_MODE, GROUP_EXISTS."""
    check_mode(group, fields.mode)
    plain = msgspec.structs.replace(fields, settings=None)
    found = [*differences(group, plain), *differences(group.settings, fields.settings, path="settings.")]
    is_chosen = fields.settings is not None and isinstance(fields.settings.dead_letter_topic, str)
    existing = group.dead_letter_sources
    if is_chosen and existing is not None and (not sources or not set(sources) <= set(existing)):
        found.append(Difference("deadLetterSources", existing, sources))
    refuse_differences(ProblemCode.GROUP_EXISTS, f"/groups/{quote(group.name, safe='')}", found)
