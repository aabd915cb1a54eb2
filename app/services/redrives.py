"""Jobs that send dead letters back. The nodes that lead the letters do it; here it is said what, and told how far."""

from msgspec import UNSET

from acklog.wire.identifiers import MessageId
from acklog.wire.names import local_name
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.redrives import RedriveCommand, RedriveListing, RedrivePartView, RedriveView
from app.calls.same_namespace import check_same_namespace
from app.gateway.dependencies import Gateway
from app.gateway.routing import PartitionLeaders
from app.services.catalog import Catalog
from app.services.fan_out import ask_each
from app.services.group_views import position_of
from app.services.groups import DEAD_LETTER_SOURCES_MAX
from app.services.log_ends import LogEnds
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.redrives import ChosenLetter, LetterRange, RedriveJob, RedrivePart
from cluster.model.values import Group, Topic
from storage.rpc.messages import PositionsResponse


class RedriveService:
    """Calls raise ServerError. The group is whose progress says which letters are handled."""

    def __init__(self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders, ends: LogEnds) -> None:
        self._metadata = gateway.metadata
        self._redrives = gateway.redrives
        self._timeout_ms = gateway.settings.request_timeout_ms
        self._catalog = catalog
        self._leaders = leaders
        self._ends = ends

    async def start(self, name: str, command: RedriveCommand, principal: Principal) -> RedriveView:
        """Durable on return. TOPIC_NOT_FOUND, MESSAGE_NOT_FOUND, REDRIVE_UNDER_WAY, TOO_MANY_REDRIVES,
        NODES_TOO_OLD."""
        principal.require_on_group(Action.SETTLE, name)
        principal.require_on_group(Action.SEND, name)
        for field, topic_name in (("topic", command.topic), ("to", command.to)):
            if topic_name is not None:
                check_same_namespace(name, topic_name, field=field)
        group = await self._catalog.group(name)
        topic = await self._letters_topic(group, command.topic, principal)
        target = (
            None if command.to is None else await self._catalog.topic(command.to, principal, Action.SEND, field="to")
        )
        if target is not None and target.id == topic.id:
            raise ServerError(ProblemCode.INVALID_FIELD, "is where the letters are", field="to")
        chosen = None if command.letters is None else self._chosen(topic, command.letters)
        job = RedriveJob(
            "",
            group.id,
            topic.id,
            0,
            await self._ranges(group, topic, chosen),
            target_id="" if target is None else target.id,
            targets=_targets_of(principal),
            filter=command.filter,
            chosen=chosen,
            rate_per_second=command.rate_per_second,
        )
        return self._view(await self._redrives.create(job), group, {}, with_parts=True)

    async def list(self, name: str, principal: Principal) -> RedriveListing:
        """All that is kept of the group's, without their partitions."""
        principal.require_progress_of(name)
        group = await self._catalog.group(name)
        jobs = [
            job for job in self._metadata.redrives.all() if job.group_id == group.id and self._may_see(job, principal)
        ]
        answers = await ask_each(jobs, self._redrives.parts)
        views: list[RedriveView] = []
        for job, parts in zip(jobs, answers, strict=True):
            if isinstance(parts, ServerError):
                raise parts
            views.append(self._view(job, group, parts, with_parts=False))
        return RedriveListing(views[::-1])

    async def look(self, name: str, job_id: str, principal: Principal) -> RedriveView:
        """REDRIVE_NOT_FOUND."""
        principal.require_progress_of(name)
        group, job = await self._find(name, job_id, principal)
        return self._view(job, group, await self._redrives.parts(job), with_parts=True)

    async def cancel(self, name: str, job_id: str, principal: Principal) -> RedriveView:
        """Nothing more is begun of it; one that is over stays as it was. REDRIVE_NOT_FOUND."""
        principal.require_on_group(Action.SEND, name)
        group, job = await self._find(name, job_id, principal)
        cancelled = await self._redrives.cancel(group.id, job.id)
        return self._view(cancelled, group, await self._redrives.parts(cancelled), with_parts=True)

    async def _find(self, name: str, job_id: str, principal: Principal) -> tuple[Group, RedriveJob]:
        group = await self._catalog.group(name)
        job = self._metadata.redrives.find(group.id, job_id)
        if job is None:
            await self._catalog.confirm_redrives(group)  # another gateway may have made it a moment ago
            job = self._metadata.redrives.find(group.id, job_id)
        if job is None or not self._may_see(job, principal):
            raise ServerError(ProblemCode.REDRIVE_NOT_FOUND, f"{name!r} has no redrive job {job_id[:32]!r}")
        return group, job

    def _may_see(self, job: RedriveJob, principal: Principal) -> bool:
        topic = self._metadata.topic_by_id(job.topic_id)
        return principal.knows_every_topic() if topic is None else principal.knows_topic(topic.name)

    async def _letters_topic(self, group: Group, name: str | None, principal: Principal) -> Topic:
        if name is not None:
            principal.require_on_topic(Action.RECEIVE, name)  # it is read where it is sent
            return await self._catalog.topic(name, principal, Action.SETTLE, field="topic")
        ending, chosen = f".{local_name(group.name)}.dlq", group.settings.dead_letter_topic
        found = [
            topic
            for topic in self._catalog.topics_beside(group, principal, Action.SETTLE)
            if (topic.name.endswith(ending) or topic.name == chosen)
            and principal.may_on_topic(Action.RECEIVE, topic.name)
        ]
        if len(found) != 1:
            names = [topic.name for topic in found[:10]]
            detail = (
                f"name the topic: {group.name!r} has letters in {', '.join(names)}"
                if found
                else (f"name the topic: there is none of {group.name!r}'s dead letters")
            )
            raise ServerError(ProblemCode.MISSING_FIELD, detail, field="topic", extra={"near": names})
        return found[0]

    def _chosen(self, topic: Topic, letters: tuple[MessageId, ...]) -> tuple[ChosenLetter, ...]:
        for index, letter in enumerate(letters):
            if letter.topic_id != topic.id or letter.partition >= topic.partitions:
                detail = f"is no message of {topic.name!r}"
                raise ServerError(ProblemCode.MESSAGE_NOT_FOUND, detail, field=f"messageIds[{index}]")
        return tuple(sorted({ChosenLetter(each.partition, each.epoch, each.offset) for each in letters}, key=_place))

    async def _ranges(
        self, group: Group, topic: Topic, chosen: tuple[ChosenLetter, ...] | None
    ) -> tuple[LetterRange, ...]:
        """What is there of letters now: those that come later are another job's."""
        present = [number for number in range(topic.partitions) if not self._leaders.is_gone(topic.id, number)]
        if chosen is not None:
            present = [number for number in present if any(each.partition == number for each in chosen)]
        deadline_ms = self._leaders.deadline_in(self._timeout_ms)

        async def positions(number: int) -> PositionsResponse:
            return await self._ends.positions(topic.id, number, deadline_ms=deadline_ms)

        found: list[LetterRange] = []
        for number, answer in zip(present, await ask_each(present, positions), strict=True):
            if isinstance(answer, ServerError):
                raise answer
            position, end = position_of(group, answer), answer.high_watermark
            start = answer.log_start if position is None else max(position.progress, answer.log_start)
            letters = end - start - (0 if position is None else position.done_above)
            if chosen is not None:
                offsets = [each.offset for each in chosen if each.partition == number]
                if offsets[-1] >= end:
                    detail = f"{topic.name!r} has nothing at offset {offsets[-1]} of partition {number}"
                    raise ServerError(ProblemCode.MESSAGE_NOT_FOUND, detail, field="messageIds")
                start, end, letters = max(start, offsets[0]), offsets[-1] + 1, len(offsets)
            if letters > 0 and start < end:
                found.append(LetterRange(number, start, end, letters))
        return tuple(found)

    def _view(self, job: RedriveJob, group: Group, parts: dict[int, RedrivePart], *, with_parts: bool) -> RedriveView:
        topic, target = self._metadata.topic_by_id(job.topic_id), self._metadata.topic_by_id(job.target_id)
        views: list[RedrivePartView] = []
        for each in job.ranges:
            part = parts.get(each.partition, RedrivePart(each.start))
            position = min(max(part.position, each.start), each.end)
            views.append(RedrivePartView(each.partition, each.start, each.end, position, part.moved, part.failed))
        return RedriveView(
            job.id,
            group.name,
            None if topic is None else topic.name,
            _state_of(job, topic),
            job.created_at_ms,
            job.letters,
            sum(view.moved for view in views),
            sum(view.failed for view in views),
            to=(None if target is None else target.name) if job.target_id else UNSET,
            filter=job.filter,
            rate_per_second=job.rate_per_second,
            cancelled_at=job.cancelled_at_ms if job.is_cancelled else None,
            finished_at=job.finished_at_ms if job.is_finished else None,
            partitions=views if with_parts else [],
        )


def _place(letter: ChosenLetter) -> tuple[int, int]:
    return letter.partition, letter.offset


def _state_of(job: RedriveJob, topic: Topic | None) -> str:
    if job.is_cancelled:
        return "cancelled"
    if job.is_finished:
        return "done"
    return "running" if topic is not None else "gone"


def _targets_of(principal: Principal) -> tuple[str, ...] | None:
    """No letter goes further than the token does, whatever it says of where it came from (rule R39)."""
    patterns = principal.topic_patterns(Action.SEND)
    if patterns is not None and len(patterns) > DEAD_LETTER_SOURCES_MAX:
        detail = f"the token has more than {DEAD_LETTER_SOURCES_MAX} patterns of topics: it takes one for every topic"
        raise ServerError(ProblemCode.FORBIDDEN, detail)
    return patterns
