"""`acklog why`: what each group has done with a message, and what one can do about it."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.explanation import Explanation
from acklog.command.held_back import held_back
from acklog.command.message_state import STATE_STYLES, explain_state, failure_rows
from acklog.command.message_view import body_cell, stored_rows
from acklog.command.session import session_of
from acklog.command.tree import CommandTyper
from acklog.command.views import Cell, Fields, Sentence, View

if TYPE_CHECKING:
    from acklog import Client
    from acklog.messages import GroupState, LookedAt

command = CommandTyper(name="why")


@command.command("why")
def why(
    context: typer.Context,
    message_id: Annotated[
        str, typer.Argument(metavar="MESSAGE_ID", help="As acklog send and receive print it.", show_default=False)
    ],
) -> None:
    """Explain what each group has done with a message: waiting for what, leased until when, dead-lettered where."""
    session = session_of(context)
    now_ms = session.now_ms()
    with session.client() as client:
        looked = client.look(message_id)
        explained = [(state, _explain(client, looked, state, now_ms)) for state in looked.groups]
    views: list[View] = [
        Fields(
            [*stored_rows(looked.message, now_ms), ("body", Cell(body_cell(looked.message), "strong"))],
            title=message_id,
        )
    ]
    views += [_fields(state, explanation, now_ms) for state, explanation in explained]
    if not explained:
        topic = looked.message.topic
        views.append(
            Sentence(f"No group has read its partition yet. Receive from it: acklog receive {topic} --group GROUP")
        )
    document = {
        "message": looked.message,
        "groups": [_document(state, explanation) for state, explanation in explained],
    }
    session.output.show(document, *views)


def _explain(client: "Client", looked: "LookedAt", state: "GroupState", now_ms: int) -> Explanation:
    from acklog.errors import Forbidden, GroupNotFound

    message = looked.message
    try:
        group = client.groups.get(state.group)
        progress = client.groups.offsets(state.group, message.topic).offsets
    except (GroupNotFound, Forbidden):  # deleted just now, or not this token's business: the state says enough
        return explain_state(message, state, None, ahead=None, now_ms=now_ms)
    here = next((each for each in progress if each.partition == message.partition), None)
    if here is not None and state.state == "waiting" and not here.is_paused:
        held = held_back(client, message, state, group, here)
        if held is not None:
            return held
    ahead = None
    if here is not None and here.progress is not None:
        ahead = max(0, message.offset - here.progress)
    return explain_state(message, state, group, ahead=ahead, now_ms=now_ms)


def _fields(state: "GroupState", explanation: Explanation, now_ms: int) -> Fields:
    rows: list[tuple[str, Cell | str]] = [
        ("state", Cell(state.state, STATE_STYLES.get(state.state, ""))),
        ("what", explanation.what),
    ]
    if explanation.then:
        rows.append(("then", explanation.then))
    rows += failure_rows(state, now_ms)
    rows.append(("to do", explanation.do))
    return Fields(rows, title=f"group {state.group}")


def _document(state: "GroupState", explanation: Explanation) -> dict[str, object]:
    import msgspec

    document: dict[str, object] = msgspec.to_builtins(state)
    return {**document, "what": explanation.what, "then": explanation.then, "toDo": explanation.do}
