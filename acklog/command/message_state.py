"""What a message's state in a group means: in words, and what one can do about it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acklog.command.explanation import Explanation
from acklog.command.in_flight_limits import limited
from acklog.command.times import ago_text, clock_text, duration_text
from acklog.command.views import Cell, Style
from acklog.wire.name_patterns import is_pattern_for
from acklog.wire.names import local_name

if TYPE_CHECKING:
    from acklog.catalog import Group
    from acklog.messages import GroupState, StoredMessage

STATE_STYLES: dict[str, Style] = {
    "waiting": "",
    "waitingForGrowth": "warning",
    "leased": "name",
    "delayed": "warning",
    "deadLettering": "bad",
    "blocked": "bad",
    "deadLettered": "bad",
    "passedOver": "",
    "expired": "warning",
    "done": "good",
}


def state_in(states: "Sequence[GroupState]", group: str) -> "GroupState | None":
    """The group's state among those of a look; None where the group has not read the partition."""
    return next((state for state in states if state.group == group), None)


def dead_letter_topic(topic: str, group: "Group | None", name: str) -> str:
    """Where the group's dead letters of the topic go. Names that are too long together are cut by the server."""
    chosen = None if group is None else group.settings.dead_letter_topic
    sources = None if group is None else group.dead_letter_sources
    is_source = sources is None or any(is_pattern_for(pattern, topic) for pattern in sources)
    return chosen if chosen and chosen != topic and is_source else f"{topic}.{local_name(name)}.dlq"


def explain_state(
    message: "StoredMessage", state: "GroupState", group: "Group | None", *, ahead: int | None, now_ms: int
) -> Explanation:
    """What the state of a message in a group means. `ahead` counts the messages of its partition before it that the
    group has not done, where that is known."""
    attempts_max = group.settings.max_attempts if group is not None else 0
    used = _attempts(state.attempts, attempts_max)
    drop = f"Drop it: acklog ack --message-id {message.message_id} --group {state.group}"
    letters = dead_letter_topic(message.topic, group, state.group)
    if state.state == "waiting":
        return _waiting(message, state, group, used=used, ahead=ahead)
    if state.state == "waitingForGrowth":
        return Explanation(
            "Waiting: it was sent after the topic's partitions changed, and the group keeps an order.",
            "The group gets it when it has done what was sent before, in every partition.",
            f"See where that is: acklog groups lag {state.group} --partitions",
        )
    if state.state == "leased":
        holder = f" to {state.consumer}" if state.consumer else ""
        until = _until(state, now_ms)
        return Explanation(
            f"Leased{holder} until {until}; attempt {state.attempts}{_of(attempts_max)}.",
            "If it is not acknowledged by then, it comes again.",
            f"Wait, or give it back: acklog nack RECEIPT. {drop}",
        )
    if state.state == "delayed":
        return Explanation(
            f"Given back; {used}. It waits until {_until(state, now_ms)}.",
            "After that the group's next receive gets it, before fresh messages.",
            drop,
        )
    if state.state == "deadLettering":
        is_used_up = message.expires_at_ms is None or state.attempts >= attempts_max
        why = "attempts are used up" if is_used_up else "time to live is over"
        return Explanation(
            f"Its {why}; {used}.",
            f"It is being moved to {letters}.",
            f"See it there: acklog dlq show {letters}",
        )
    if state.state == "blocked":
        named = f"{state.group} --message {message.message_id}"
        return Explanation(
            f"Blocked: its attempts are used up; {used}. It holds up what is behind it.",
            "It stays so until somebody decides.",
            f"Try it again: acklog keys release {named}. Give it up: acklog keys skip {named}",
        )
    if state.state == "deadLettered":
        may_have_expired = message.expires_at_ms is not None and message.expires_at_ms <= now_ms
        why = "attempts were used up" + (", or its time to live was over" if may_have_expired else "")
        return Explanation(
            f"Dead: its {why}; it was moved to {letters}.",
            "The group does not get it again.",
            f"See why: acklog dlq show {letters}. Once the cause is gone: acklog dlq retry {letters}",
        )
    if state.state == "passedOver":
        return _passed_over(message, state, group)
    if state.state == "expired":
        return _expired(message, now_ms)
    if state.state == "done":
        return Explanation(
            "Done: it was acknowledged, or the group was sent past it.",
            "The group does not get it again.",
            f"To work on it again, with all that follows it: acklog seek {state.group} {message.topic} "
            f"--to {message.offset} --partition {message.partition}",
        )
    return Explanation(f"In the state {state.state}; {used}.", "", "This command is older than the server: update it.")


def _behind_unreadable(message: "StoredMessage", state: "GroupState", offset: int) -> Explanation:
    return Explanation(
        f"Waiting behind offset {offset:,} of its partition, which cannot be read: its batch is damaged on disk.",
        "The partition goes on when that one is repaired from a replica, or somebody passes it.",
        f"Find what is damaged: acklog fsck. Pass it: acklog seek {state.group} {message.topic} --to {offset + 1} "
        f"--partition {message.partition}",
    )


def _passed_over(message: "StoredMessage", state: "GroupState", group: "Group | None") -> Explanation:
    now = "has none now" if group is None or group.settings.filter is None else f"is now: {group.settings.filter}"
    return Explanation(
        f"Passed over by the group's filter of that time (it {now}).",
        "The group does not get it, whatever its filter becomes.",
        f"Once the filter matches it: acklog seek {state.group} {message.topic} --to {message.offset} "
        f"--partition {message.partition}",
    )


def _expired(message: "StoredMessage", now_ms: int) -> Explanation:
    at_ms = message.expires_at_ms
    until = "" if at_ms is None else f" on {clock_text(at_ms)} ({ago_text(at_ms, now_ms)})"
    return Explanation(
        f"Expired: its time to live was over{until} before it was its turn, and it was passed over.",
        "The group does not get it, and a seek does not bring it back.",
        f"It is in the log as it was: acklog peek {message.topic}",
    )


def failure_rows(state: "GroupState", now_ms: int) -> list[tuple[str, Cell | str]]:
    """Who had it last, and why it failed: what is known of that."""
    rows: list[tuple[str, Cell | str]] = []
    if state.last_consumer:
        rows.append(("last had by", state.last_consumer))
    said = [(f"attempt {each.attempt}", f"{each.reason} ({ago_text(each.at_ms, now_ms)})") for each in state.reasons]
    return [*rows, *said]


def _is_paused(group: "Group", message: "StoredMessage") -> bool:
    return any(
        paused.topic in (None, message.topic) and (paused.partitions is None or message.partition in paused.partitions)
        for paused in group.paused
    )


def _waiting(
    message: "StoredMessage", state: "GroupState", group: "Group | None", *, used: str, ahead: int | None
) -> Explanation:
    if group is not None and _is_paused(group, message):
        return Explanation(
            f"Waiting, and the group is paused there; {used}.",
            "Nobody gets it until the group goes on.",
            f"Let it go on: acklog groups resume {state.group}. What is paused: acklog groups show {state.group}",
        )
    if state.behind_unreadable is not None:
        return _behind_unreadable(message, state, state.behind_unreadable)
    if state.limit:
        return limited(message, state, group)
    receive = f"acklog receive {message.topic} --group {state.group}"
    if state.attempts:
        what = f"Waiting to be received again; {used}."
    elif ahead:
        what = f"Waiting: nobody has received it yet, and {ahead:,} of its partition are before it."
    else:
        what = "Waiting: nobody has received it yet, and nothing of its partition is before it."
    return Explanation(what, "The group's next receive that has room gets it.", f"Receive it: {receive}")


def _until(state: "GroupState", now_ms: int) -> str:
    if state.until_ms is None:
        return "an unknown time"
    left_ms = state.until_ms - now_ms
    left = f"in {duration_text(left_ms)}" if left_ms > 0 else ago_text(state.until_ms, now_ms)
    return f"{clock_text(state.until_ms)} ({left})"


def _attempts(count: int, maximum: int) -> str:
    if not count:
        return "no attempt has failed"
    return f"{count}{_of(maximum)} attempt{'s' if count > 1 or maximum > 1 else ''} failed"


def _of(maximum: int) -> str:
    return f" of {maximum}" if maximum else ""
