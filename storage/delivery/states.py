"""The states of a message within a group, and what may happen in each: as data.

The state machine asks `accepts` before it settles anything but a live lease, the property tests hold every transition
that they see against `TRANSITIONS`, and docs/delivery.md shows `render_diagram()` and `render_table()`.
"""

from enum import Enum


class MessageState(Enum):
    WAITING = "waiting"
    LEASED = "leased"
    DELAYED = "delayed"
    DEAD_LETTERING = "deadLettering"
    BLOCKED = "blocked"
    DONE = "done"
    DEAD_LETTERED = "deadLettered"
    PASSED_OVER = "passedOver"
    EXPIRED = "expired"


class MessageEvent(Enum):
    """What happens to a message. `ack`, `nack` and `extend` come with a receipt that is valid (or, for an ack, with a
    message id)."""

    RECEIVE = "receive"
    ACK = "ack"
    NACK = "nack"
    EXTEND = "extend"
    RELEASE = "answer not written"
    EXPIRE = "deadline passed"
    GIVE_UP = "attempts used up"
    BLOCK = "attempts used up, and the group blocks"
    DUE = "delay over"
    DEAD_LETTER = "in the dead-letter topic"
    LET_GO = "released by a person"
    SKIP = "skipped by a person"
    FILTER = "the filter does not match"
    OUTLIVE = "time to live over"
    OUTLIVE_AS_LETTER = "time to live over, and the group wants letters"
    SEEK_TO = "seek to or before it"
    SEEK_PAST = "seek past it"
    RETAIN = "removed by retention"
    RESTART = "restart or failover"


_S, _E = MessageState, MessageEvent

SETTLED_STATES = (_S.DONE, _S.DEAD_LETTERED, _S.PASSED_OVER, _S.EXPIRED)

TRANSITIONS: dict[tuple[MessageState, MessageEvent], MessageState] = {
    (_S.WAITING, _E.RECEIVE): _S.LEASED,
    (_S.WAITING, _E.ACK): _S.DONE,
    (_S.WAITING, _E.NACK): _S.DELAYED,
    (_S.WAITING, _E.EXTEND): _S.LEASED,
    (_S.WAITING, _E.GIVE_UP): _S.DEAD_LETTERING,
    (_S.LEASED, _E.ACK): _S.DONE,
    (_S.LEASED, _E.NACK): _S.DELAYED,
    (_S.LEASED, _E.EXTEND): _S.LEASED,
    (_S.LEASED, _E.RELEASE): _S.WAITING,
    (_S.LEASED, _E.EXPIRE): _S.WAITING,
    (_S.LEASED, _E.GIVE_UP): _S.DEAD_LETTERING,
    (_S.LEASED, _E.RESTART): _S.WAITING,
    (_S.DELAYED, _E.DUE): _S.WAITING,
    (_S.DELAYED, _E.ACK): _S.DONE,
    (_S.DELAYED, _E.NACK): _S.DELAYED,
    (_S.DELAYED, _E.EXTEND): _S.LEASED,
    (_S.DELAYED, _E.GIVE_UP): _S.DEAD_LETTERING,
    **{(state, _E.BLOCK): _S.BLOCKED for state in (_S.WAITING, _S.LEASED, _S.DELAYED)},
    (_S.BLOCKED, _E.ACK): _S.DONE,
    (_S.BLOCKED, _E.NACK): _S.BLOCKED,
    (_S.BLOCKED, _E.LET_GO): _S.WAITING,
    (_S.BLOCKED, _E.SKIP): _S.DONE,
    (_S.DEAD_LETTERING, _E.ACK): _S.DONE,
    (_S.DEAD_LETTERING, _E.NACK): _S.DEAD_LETTERING,
    (_S.DEAD_LETTERING, _E.DEAD_LETTER): _S.DEAD_LETTERED,
    (_S.WAITING, _E.FILTER): _S.PASSED_OVER,
    (_S.PASSED_OVER, _E.ACK): _S.PASSED_OVER,
    (_S.WAITING, _E.OUTLIVE): _S.EXPIRED,
    (_S.WAITING, _E.OUTLIVE_AS_LETTER): _S.DEAD_LETTERING,
    **{(state, _E.OUTLIVE): _S.EXPIRED for state in (_S.BLOCKED, _S.DEAD_LETTERING)},
    **{(state, _E.OUTLIVE_AS_LETTER): _S.DEAD_LETTERING for state in (_S.BLOCKED, _S.DEAD_LETTERING)},
    (_S.EXPIRED, _E.ACK): _S.EXPIRED,
    (_S.DONE, _E.ACK): _S.DONE,
    (_S.DEAD_LETTERED, _E.ACK): _S.DEAD_LETTERED,
    **{(state, _E.SEEK_TO): _S.WAITING for state in _S},
    **{(state, _E.SEEK_PAST): state if state in SETTLED_STATES else _S.DONE for state in _S},
    **{(state, _E.RETAIN): state if state in SETTLED_STATES else _S.DONE for state in _S},
}

_EXPLAINED_IN_TEXT = (_E.SEEK_TO, _E.SEEK_PAST, _E.RETAIN)


def accepts(state: MessageState, event: MessageEvent) -> bool:
    """Whether the event has a meaning in the state."""
    return (state, event) in TRANSITIONS


def render_diagram() -> str:
    """A Mermaid state diagram. Seeks and retention are left out: they lead from everywhere to one place each."""
    lines = ["stateDiagram-v2", f"    [*] --> {_S.WAITING.value}"]
    for (state, event), following in TRANSITIONS.items():
        if event not in _EXPLAINED_IN_TEXT and not (state is following and state in SETTLED_STATES):
            lines.append(f"    {state.value} --> {following.value}: {event.value}")
    lines += [f"    {state.value} --> [*]" for state in SETTLED_STATES]
    return "\n".join(lines) + "\n"


def render_table() -> str:
    """A Markdown table: a row per event, a column per state."""
    states = list(_S)
    lines = [
        "| | " + " | ".join(state.value for state in states) + " |",
        "|---" * (len(states) + 1) + "|",
    ]
    for event in _E:
        cells = (TRANSITIONS.get((state, event)) for state in states)
        lines.append(f"| {event.value} | " + " | ".join(cell.value if cell else "" for cell in cells) + " |")
    return "\n".join(lines) + "\n"
