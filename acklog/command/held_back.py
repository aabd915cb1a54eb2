"""Why a group with an order does not get a message that waits: whose its partition is, what is before it in its key,
and what of that waits for a person."""

from typing import TYPE_CHECKING, NamedTuple

from acklog.command.explanation import Explanation
from acklog.command.group_members import owner_of, silence_text
from acklog.command.message_state import state_in
from acklog.command.quantities import count_text
from acklog.wire.limits import BLOCKED_LISTED_MAX

if TYPE_CHECKING:
    from acklog import Client
    from acklog.catalog import BlockedMessage, Group, PartitionProgress
    from acklog.messages import GroupState, StoredMessage

SEARCHED_MESSAGES_MAX = 10_000
"""Of the log before the message, for an earlier one of its key. A group that is further behind has other worries."""
SETTLED = frozenset({"done", "deadLettered", "passedOver", "expired"})


class EarlierOfKey(NamedTuple):
    """The first message of the key that is not done. `message_id` None: there is none in `searched` messages, which are
    all of them unless `is_more`."""

    message_id: str | None
    state: str
    searched: int
    is_more: bool


def held_back(
    client: "Client", message: "StoredMessage", state: "GroupState", group: "Group", progress: "PartitionProgress"
) -> Explanation | None:
    """Of a message that waits in the group, whatever it has been through. None: its state says why, or the group's next
    receive gets it, as far as can be told."""
    behind = _of_blocked(client, message, group) if progress.blocked else None
    if behind is not None:
        return behind
    if group.mode == "exclusive":
        is_told = state.limit or state.behind_unreadable is not None
        return None if is_told else _of_owner(message, group, progress)
    if group.mode == "keyOrdered" and message.key is not None and progress.progress is not None:
        return _of_key(client, message, group, progress.progress)
    return None


def _of_blocked(client: "Client", message: "StoredMessage", group: "Group") -> Explanation | None:
    found = client.groups.blocked(group.name, message.topic, limit=BLOCKED_LISTED_MAX)
    first = next((each for each in found.keys if _is_held_by(message, each, group)), None)
    if first is None:
        return None
    place = f"--topic {first.topic} --partition {first.partition} --offset {first.offset}"
    named = f"{group.name} {place if first.message_id is None else f'--message {first.message_id}'}"
    what = first.message_id or f"offset {first.offset}"
    return Explanation(
        f"Waiting behind {what}, which is blocked: {count_text(first.attempts, 'attempt')} failed.",
        "It comes when somebody has decided about that one.",
        f"Try that one again: acklog keys release {named}. Give it up: acklog keys skip {named}",
    )


def _is_held_by(message: "StoredMessage", blocked: "BlockedMessage", group: "Group") -> bool:
    is_before = blocked.partition == message.partition and blocked.offset < message.offset
    return is_before and (group.mode == "exclusive" or (message.key is not None and blocked.key == message.key))


def _of_owner(message: "StoredMessage", group: "Group", progress: "PartitionProgress") -> Explanation | None:
    if group.members is None:
        return None
    place = f"partition {message.partition} of {message.topic}"
    owner = owner_of(group, message.topic, message.partition)
    if owner is None:
        why = "no member of the group is subscribed to it" if group.members else "the group has no members"
        return Explanation(
            f"Waiting: nobody has {place}, as {why}.",
            "The next member that subscribes to it gets it.",
            f"Take part: acklog receive {message.topic} --group {group.name} --mode exclusive --consumer NAME",
        )
    ahead = 0 if progress.progress is None else max(0, message.offset - progress.progress)
    before = f" after the {count_text(ahead, 'message')} before it" if ahead else ", next"
    return Explanation(
        f"Waiting for {owner.member}, who has {place} and was heard {silence_text(owner)}.",
        f"It gets offset {message.offset}{before}.",
        f"See who has what: acklog groups describe {group.name}",
    )


def _of_key(client: "Client", message: "StoredMessage", group: "Group", start: int) -> Explanation | None:
    found = earlier_of_key(client, message, group.name, start)
    if found.message_id is not None:
        return Explanation(
            f"Waiting behind {found.message_id}, an earlier one of its key {message.key!r}, which is {found.state}.",
            "It comes when that one is done, or dead. Other keys do not wait.",
            f"See what that one waits for: acklog why {found.message_id}",
        )
    if found.is_more:
        return Explanation(
            f"Waiting; of its key {message.key!r} nothing is before it in the first {found.searched:,} messages that "
            "the group has not done. There are more.",
            "It comes after those of its key.",
            f"See how far the group is: acklog groups describe {group.name}",
        )
    return None


def earlier_of_key(client: "Client", message: "StoredMessage", group: str, start: int) -> EarlierOfKey:
    """Searches the log from `start`, where the first message is that the group has not done."""
    offset, searched = start, 0
    while offset < message.offset and searched < SEARCHED_MESSAGES_MAX:
        page = client.records(message.topic, message.partition, offset=offset)
        for each in page.messages:
            if each.offset >= message.offset:
                return EarlierOfKey(None, "", searched, False)
            searched += 1
            if each.key == message.key:
                state = state_in(client.look(each.message_id).groups, group)
                if state is None or state.state not in SETTLED:
                    return EarlierOfKey(each.message_id, "waiting" if state is None else state.state, searched, False)
        if page.next_offset <= offset:
            break
        offset = page.next_offset
    return EarlierOfKey(None, "", searched, offset < message.offset)
