"""Which limit of what is in flight a message waits for, in words."""

from typing import TYPE_CHECKING

from acklog.command.explanation import Explanation

if TYPE_CHECKING:
    from acklog.catalog import Group
    from acklog.messages import GroupState, StoredMessage

_OPTIONS = {
    "maxInFlight": "max-in-flight",
    "maxInFlightPerKey": "max-in-flight-per-key",
    "maxInFlightPerHeader": "max-in-flight-per-header",
    "maxInFlightPerConsumer": "max-in-flight-per-consumer",
}


def limited(message: "StoredMessage", state: "GroupState", group: "Group | None") -> Explanation:
    """`state.limit` names the setting. `group` None: what that is nobody says."""
    option = _OPTIONS.get(state.limit)
    value = None if group is None or option is None else getattr(group.settings, option.replace("-", "_"))
    allows = f"{state.limit} allows" if value is None else f"{state.limit} allows: {value:,}"
    raising = "" if option is None else f" Allow more: acklog groups update {state.group} --{option} COUNT"
    return Explanation(
        f"Waiting: {_who_has(message, state.limit, group)} as many messages in flight there as {allows}.",
        "It can go out when one of them is acknowledged, given back, or its lease runs out.",
        f"See where they are: acklog groups lag {state.group} --partitions.{raising}",
    )


def _who_has(message: "StoredMessage", limit: str, group: "Group | None") -> str:
    if limit == "maxInFlightPerKey":
        return f"its key {message.key!r} has"
    if limit == "maxInFlightPerHeader":
        header = None if group is None else group.settings.fair_by_header
        value = None if header is None else (message.headers or {}).get(header)
        return "the value of its header has" if value is None else f"{value!r} as its header {header} has"
    return "every consumer has" if limit == "maxInFlightPerConsumer" else "the group has"
