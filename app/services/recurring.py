"""Recurring schedules: made, changed, shown and removed. Who sends them is the leader of their partition."""

import base64
from typing import TypeVar
from urllib.parse import quote

import msgspec
from msgspec import UNSET, Raw, UnsetType

from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.auth.principal import Principal
from app.calls.names import check_plain_name
from app.calls.recurring import RecurringListing, RecurringView, RecurringWish, TemplateView
from app.gateway.dependencies import Gateway
from app.services.catalog import Catalog
from app.services.claimed_origins import check_claims
from app.services.confirmations import Confirmations
from app.services.quotas import QuotaService
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.action import Action
from cluster.model.recurrence import CronFaultError, Recurrence, ZoneFaultError, check_rule
from cluster.model.recurring_schedule import (
    MISSED_GRACE_MS,
    MissedRuns,
    RecurrenceRule,
    RecurringSchedule,
    home_of,
)
from cluster.model.values import Topic

_Value = TypeVar("_Value")


class RecurringService:
    """Calls raise ServerError: as those about a topic, and what each names. What is sent is shown to whoever may
    receive it: to send to the topic is not to read what others have said."""

    def __init__(self, gateway: Gateway, catalog: Catalog, quotas: QuotaService) -> None:
        self._quotas = quotas
        self._metadata = gateway.metadata
        self._recurring = gateway.recurring
        self._clock = gateway.clock
        self._catalog = catalog
        self._confirmations = Confirmations(gateway)

    async def create(
        self, topic_name: str, name: str, wish: RecurringWish, principal: Principal
    ) -> tuple[RecurringView, bool]:
        """The schedule; True when it was made, and not there with the settings that `wish` names.

        Raises SCHEDULE_EXISTS (with others), TOO_MANY_SCHEDULES, NODES_TOO_OLD, INVALID_NAME, INVALID_CRON,
        INVALID_FIELD, MISSING_FIELD, QUOTA_EXCEEDED.
        """
        principal.require_on_topic(Action.SEND, topic_name)
        check_plain_name(name, field="schedule")
        topic = await self._catalog.topic(topic_name, principal, Action.SEND, field="topic")
        record = wish.record
        if isinstance(record, UnsetType):
            raise ServerError(ProblemCode.MISSING_FIELD, "say what is to be sent", field="message")
        check_claims(record.headers or {}, principal, self._metadata)

        def make(id_: str, now_ms: int) -> RecurringSchedule:
            blank = RecurringSchedule(
                id_, topic.id, name, now_ms, now_ms, home_of(name, record, topic), RecurrenceRule(), record
            )
            return _revised(blank, wish, topic, now_ms)

        make("", self._clock.now_ms())  # what is wrong is said before anything is asked
        await self._quotas.send_later(topic, principal)
        found, is_created = await self._recurring.get_or_create(topic, name, make)
        if not is_created:
            _refuse_other(found, wish, f"/topics/{quote(topic.name, safe='')}/schedules/{name}")
        return self._view(found, topic, principal), is_created

    async def update(self, topic_name: str, name: str, wish: RecurringWish, principal: Principal) -> RecurringView:
        """Change what `wish` names. Raises SCHEDULE_NOT_FOUND, INVALID_CRON, INVALID_FIELD,
        QUOTA_EXCEEDED."""
        principal.require_on_topic(Action.SEND, topic_name)
        check_plain_name(name, field="schedule")
        topic = await self._catalog.topic(topic_name, principal, Action.SEND, field="topic")
        if not isinstance(wish.record, UnsetType):
            check_claims(wish.record.headers or {}, principal, self._metadata)
        await self._quotas.send_later(topic, principal)
        changed = await self._recurring.update(
            topic, name, lambda before, now_ms: _revised(before, wish, topic, now_ms)
        )
        return self._view(changed, topic, principal)

    async def describe(self, topic_name: str, name: str, principal: Principal) -> RecurringView:
        """Raises SCHEDULE_NOT_FOUND."""
        principal.require_on_topic(Action.RECEIVE, topic_name)
        check_plain_name(name, field="schedule")
        topic = await self._catalog.topic(topic_name, principal, Action.RECEIVE, field="topic")
        found = self._metadata.recurring.find(topic.id, name)
        if found is None:  # another gateway may have made it a moment ago
            await self._confirmations.confirm_all(keys.recurring_of(topic.id), f"whether there is a schedule {name!r}")
            found = self._metadata.recurring.find(topic.id, name)
        if found is None:
            raise self._recurring.no_such(topic, name)
        return self._view(found, topic, principal)

    async def list(self, topic_name: str, principal: Principal, *, limit: int, after: str) -> RecurringListing:
        """By name."""
        topic = await self._catalog.topic(topic_name, principal, Action.LOOK, field="topic")
        found = [each for each in self._metadata.recurring.of_topic(topic.id) if each.name > after]
        views = [self._view(each, topic, principal) for each in found[:limit]]
        for view in views:
            view.message = UNSET
        return RecurringListing(views, views[-1].schedule if len(found) > limit else None)

    async def delete(self, topic_name: str, name: str, principal: Principal) -> None:
        """Nothing is sent any more, once the partition's leader has heard of it; to ask again is fine. Raises
        INVALID_NAME."""
        principal.require_on_topic(Action.SEND, topic_name)
        check_plain_name(name, field="schedule")
        await self._recurring.delete(await self._catalog.topic(topic_name, principal, Action.SEND, field="topic"), name)

    def _view(self, schedule: RecurringSchedule, topic: Topic, principal: Principal) -> RecurringView:
        rule = schedule.rule
        view = RecurringView(
            schedule=schedule.name,
            queue=topic.name,
            partition=schedule.home,
            missed=schedule.missed,
            created_at=schedule.created_at_ms,
        )
        if principal.may_on_topic(Action.RECEIVE, topic.name):
            view.message = _template_view(schedule.record)
        if rule.cron is not None:
            view.cron, view.time_zone = rule.cron, rule.time_zone
        else:
            view.every_seconds = rule.every_ms / 1000
        if schedule.missed is MissedRuns.SKIP:
            view.grace_seconds = schedule.grace_ms / 1000
        if rule.start_ms is not None:
            view.start_at = rule.start_ms
        if rule.end_ms is not None:
            view.end_at = rule.end_ms
        if schedule.is_paused:
            view.paused = True
            return view
        try:
            next_ms = Recurrence(rule).next_after(max(self._clock.now_ms(), schedule.since_ms))
        except ZoneFaultError:  # another gateway's machine knows it
            next_ms = None
        if next_ms is not None:
            view.next_at = next_ms
        return view


def _revised(before: RecurringSchedule, wish: RecurringWish, topic: Topic, now_ms: int) -> RecurringSchedule:
    """With what `wish` names. Where that changes when it is due, or lets it go on, nothing is due up to now. Raises
    ServerError INVALID_CRON, INVALID_FIELD, MISSING_FIELD."""
    if topic.config.is_compacted and not isinstance(wish.record, UnsetType) and wish.record.key is None:
        detail = f"is needed: {topic.name!r} keeps the last message of each key"
        raise ServerError(ProblemCode.MISSING_FIELD, detail, field="message.key")
    rule = _revised_rule(before.rule, wish, now_ms)
    is_paused = _named(wish.is_paused, before.is_paused, False)
    begins_anew = rule != before.rule or (before.is_paused and not is_paused)
    return msgspec.structs.replace(
        before,
        rule=rule,
        record=before.record if isinstance(wish.record, UnsetType) else wish.record,
        missed=_named(wish.missed, before.missed, MissedRuns.ONCE),
        grace_ms=_named(wish.grace_ms, before.grace_ms, MISSED_GRACE_MS),
        is_paused=is_paused,
        since_ms=max(before.since_ms, now_ms) if begins_anew else before.since_ms,
    )


def _revised_rule(before: RecurrenceRule, wish: RecurringWish, now_ms: int) -> RecurrenceRule:
    cron = _named(wish.cron, None if _is_given(wish.every_ms) else before.cron, None)
    every_ms = _named(wish.every_ms, 0 if _is_given(wish.cron) else before.every_ms, 0)
    if cron is None and not every_ms:
        raise ServerError(ProblemCode.MISSING_FIELD, "give cron or everySeconds", field="cron")
    start_ms = _named(wish.start_ms, before.start_ms, None)
    end_ms = _named(wish.end_ms, before.end_ms, None)
    if start_ms is not None and end_ms is not None and end_ms <= start_ms:
        raise ServerError(ProblemCode.INVALID_FIELD, "must be later than startAt", field="endAt")
    is_same_period = (every_ms, start_ms) == (before.every_ms, before.start_ms)
    anchor_ms = before.anchor_ms if is_same_period else now_ms if start_ms is None else start_ms
    time_zone = _named(wish.time_zone, before.time_zone, "UTC") if cron is not None else "UTC"
    if cron is None and _is_given(wish.time_zone):
        raise ServerError(ProblemCode.INVALID_FIELD, "goes with cron", field="timeZone")
    rule = RecurrenceRule(cron, time_zone, every_ms, anchor_ms if every_ms else 0, start_ms, end_ms)
    try:
        check_rule(rule, now_ms)
    except CronFaultError as error:
        extra: dict[str, object] = {"position": error.position, "expected": error.expected}
        raise ServerError(ProblemCode.INVALID_CRON, str(error), field="cron", extra=extra) from None
    except ZoneFaultError as error:
        raise ServerError(
            ProblemCode.INVALID_FIELD, str(error), field="timeZone", extra={"near": list(error.near)}
        ) from None
    return rule


def _is_given(value: object) -> bool:
    return value is not UNSET and value is not None


def _named(wish: _Value | UnsetType | None, present: _Value, default: _Value) -> _Value:
    if isinstance(wish, UnsetType):
        return present
    return default if wish is None else wish


def _refuse_other(existing: RecurringSchedule, wish: RecurringWish, target: str) -> None:
    """Raises ServerError SCHEDULE_EXISTS where `wish` names another value than there is (rule R43). What it leaves out,
    or null, is not asked for."""
    rule = existing.rule
    present = {
        "cron": (wish.cron, rule.cron),
        "timeZone": (wish.time_zone, rule.time_zone),
        "everySeconds": (wish.every_ms, rule.every_ms or None),
        "message": (wish.record, existing.record),
        "missed": (wish.missed, existing.missed),
        "graceSeconds": (wish.grace_ms, existing.grace_ms),
        "paused": (wish.is_paused, existing.is_paused),
        "startAt": (wish.start_ms, rule.start_ms),
        "endAt": (wish.end_ms, rule.end_ms),
    }
    differing = [name for name, (asked, there) in present.items() if _is_given(asked) and asked != there]
    if differing:
        raise ServerError(
            ProblemCode.SCHEDULE_EXISTS,
            f"it exists with other settings: {', '.join(differing)}; to change them: PATCH {target}",
            field=differing[0],
            extra={"differing": differing},
        )


def _template_view(record: Record) -> TemplateView:
    view = TemplateView()
    if record.key is not None:
        view.key = record.key
    if record.content_type is None:
        view.body = Raw(record.body)
    else:
        view.content_type = record.content_type
        view.body_base64 = base64.b64encode(record.body).decode("ascii")
    if record.headers:
        view.headers = record.headers
    if record.tags:
        view.tags = record.tags
    if record.ttl_ms is not None:
        view.ttl_seconds = record.ttl_ms / 1000
    return view
