"""Moves groups of the target to where their namesakes of the source are, as long as nobody reads by them there."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from acklog.catalog import Group, GroupChanges, GroupOffsets, PartitionProgress
from acklog.errors import AcklogError, GroupNotFound
from acklog.mirror.mirror_figures import GroupFigures
from acklog.mirror.position_rule import MARK, PositionMove, Stays, decide_position
from acklog.mirror.topic_copier import MirrorMeans
from acklog.mirror.topic_mirror import TopicMirror
from acklog.mirror.topic_rules import TopicRules
from acklog.positions import Position
from acklog.wire.name_patterns import is_pattern_for

POSITIONS_AT_ONCE_MAX = 1_000
EXCLUSIVE = "exclusive"
"""Only its members commit positions of such a group, and a mirror is none: a person seeks it when it moves over."""
GROUPS_KEPT_MAX = 1_000
"""Of how many groups figures are kept."""


class PositionMirror:
    """Groups have the same name at both ends."""

    def __init__(self, means: MirrorMeans, rules: TopicRules, figures: dict[str, GroupFigures]) -> None:
        self._means = means
        self._rules = rules
        self._figures = figures

    async def move_all(self, topics: Mapping[str, TopicMirror]) -> None:
        """Raises AcklogError where the source's groups cannot be listed; what keeps one group is in its figures."""
        groups = await self._means.source.groups()
        there = {group.name for group in await self._means.target.groups()}
        for group in groups:
            is_meant = any(is_pattern_for(pattern, group.name) for pattern in self._means.settings.group_patterns)
            if not is_meant or group.mode == EXCLUSIVE:
                continue
            figures = GroupFigures()
            try:
                await self._move(group, topics, figures, is_there=group.name in there)
            except AcklogError as error:
                figures.problem = str(error)
            if group.name in self._figures or len(self._figures) < GROUPS_KEPT_MAX:
                self._figures[group.name] = figures

    async def _move(
        self, group: Group, topics: Mapping[str, TopicMirror], figures: GroupFigures, *, is_there: bool
    ) -> None:
        try:
            offsets = await self._means.source.group_offsets(group.name)
        except GroupNotFound:
            return
        read = [each for each in offsets.offsets if each.topic in topics and each.progress is not None]
        if not read:
            return
        here = await self._means.target.group_offsets(group.name) if is_there else None
        places = _by_place(here)
        positions: list[Position] = []
        for each in read:
            topic = topics[each.topic]
            partition = topic.partitions.get(each.partition)
            translated = None if partition is None else partition.state.offsets.target_of(each.progress or 0)
            decision = decide_position(translated, places.get((topic.target, each.partition)))
            if isinstance(decision, PositionMove):
                positions.append(
                    Position(topic.target, each.partition, decision.offset, metadata=MARK, expected=decision.expected)
                )
            elif decision is Stays.HAS_BEGUN:
                figures.has_begun += 1
            elif decision is Stays.NOT_KNOWN:
                figures.not_known += 1
        if positions and not is_there:
            await self._means.target.create_group(group.name, group.mode, self._settings_of(group))
        for start in range(0, len(positions), POSITIONS_AT_ONCE_MAX):
            result = await self._means.target.commit(group.name, positions[start : start + POSITIONS_AT_ONCE_MAX])
            figures.moved += len(result.offsets) - result.failed
            for each_commit in result.offsets:
                if each_commit.problem is not None:
                    figures.problem = each_commit.problem.detail

    def _settings_of(self, group: Group) -> GroupChanges:
        """What the group has set otherwise than every group has it, so that nothing is named that its mode does not
        know. Quotas are the target's own matter."""
        settings = group.settings
        changes: dict[str, Any] = {}
        for field in msgspec.structs.fields(settings):
            value = getattr(settings, field.name)
            if field.name.endswith("_per_second") or (not field.required and value == field.default):
                continue
            changes[field.name] = value
        dead_letters = settings.dead_letter_topic
        if dead_letters is not None and self._rules.is_meant(dead_letters):
            changes["dead_letter_topic"] = self._rules.target_of(dead_letters)
        return cast(GroupChanges, changes)


def _by_place(offsets: GroupOffsets | None) -> dict[tuple[str, int], PartitionProgress]:
    return {} if offsets is None else {(each.topic, each.partition): each for each in offsets.offsets}
