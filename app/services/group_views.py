"""Groups and how far they are, as answers show them."""

from app.auth.principal import Principal
from app.calls.commits import CommittedView
from app.calls.groups import GroupView, ProgressView
from app.calls.pauses import PausedView
from app.calls.problem_item import problem_item
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.pauses import EVERY_TOPIC, is_paused
from cluster.model.values import Group, Topic
from storage.rpc.messages import GroupPosition, PositionsResponse


def group_view(group: Group, metadata: MetadataView, principal: Principal) -> GroupView:
    """What is paused of topics that are gone, or that the token is not for, is left out."""
    paused: list[PausedView] = []
    for pause in group.pauses:
        topic = metadata.topic_by_id(pause.topic_id)
        if topic is not None and principal.knows_topic(topic.name):
            paused.append(PausedView(topic.name, pause.partitions or None, pause.since_ms))
        elif pause.topic_id == EVERY_TOPIC:
            paused.append(PausedView(None, None, pause.since_ms))
    settings, sources = group.settings, group.dead_letter_sources
    return GroupView(group.name, group.id, group.mode, group.created_at_ms, settings, sources, paused)


def progress_view(
    topic: Topic, partition: int, answer: PositionsResponse | ServerError, group: Group
) -> ProgressView | None:
    """None where the group has not read from the partition."""
    view = ProgressView(topic.name, partition)
    if isinstance(answer, ServerError):
        view.problem = problem_item(answer)
        return view
    position = position_of(group, answer)
    if position is None:
        return None
    view.is_paused = is_paused(group.pauses, topic.id, partition)
    view.progress = position.progress
    view.generation = position.generation if position.generation >= 0 else None
    view.done_above = position.done_above
    view.in_flight = position.in_flight
    view.delayed = position.delayed
    view.dead_lettered = position.dead_lettered
    view.lost = position.lost - position.deleted
    view.deleted = position.deleted
    view.expired = position.expired
    view.blocked = position.blocked
    view.lag = max(0, answer.high_watermark - position.progress - position.done_above)
    if view.lag == 0:
        view.lag_ms = view.oldest_age_ms = 0
    elif position.oldest_append_ms >= 0:
        view.lag_ms = max(0, answer.last_append_ms - position.oldest_append_ms)
        view.oldest_age_ms = max(0, answer.clock_ms - position.oldest_append_ms)
    view.committed = _committed_view(position)
    view.log_start = answer.log_start
    view.high_watermark = answer.high_watermark
    return view


def _committed_view(position: GroupPosition) -> CommittedView | None:
    found = position.committed
    if found is None:
        return None
    return CommittedView(found.offset, None if found.leader_epoch < 0 else found.leader_epoch, found.metadata)


def position_of(group: Group, answer: PositionsResponse) -> GroupPosition | None:
    return next((position for position in answer.groups if position.group_id == group.id), None)
