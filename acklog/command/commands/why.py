"""`acklog why`: what each group has done with a message, or what became of one for later, and what one can do."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.exit_codes import ExitCode
from acklog.command.explanation import Explanation
from acklog.command.failures import HINT_SCHEDULE_ID, CommandError, UsageError
from acklog.command.held_back import held_back
from acklog.command.message_state import STATE_STYLES, explain_state, failure_rows
from acklog.command.message_view import api_document, body_cell, stored_rows
from acklog.command.schedule_state import explain_schedule, recurring_rows, schedule_fields
from acklog.command.session import session_of
from acklog.command.tree import CommandTyper
from acklog.command.views import Cell, Fields, Sentence, View
from acklog.wire.identifiers import parse_schedule_id

if TYPE_CHECKING:
    from acklog import Client
    from acklog.messages import GroupState, LookedAt

command = CommandTyper(name="why")

_Shown = tuple[dict[str, object], list[View]]


@command.command("why")
def why(
    context: typer.Context,
    identifier: Annotated[
        str,
        typer.Argument(
            metavar="MESSAGE_ID", help="As acklog send and receive print it; or a schedule id.", show_default=False
        ),
    ],
) -> None:
    """Explain what each group has done with a message: waiting for what, leased until when, dead-lettered where.

    Of a message for later (s-...): pending until when, cancelled, or delivered as which message.
    """
    session = session_of(context)
    now_ms = session.now_ms()
    with session.client() as client:
        if identifier.startswith("s-"):
            document, views = _of_schedule(client, identifier, now_ms)
        else:
            document, views = _of_message(client, identifier, now_ms)
    session.output.show(document, *views)


def _of_schedule(client: "Client", identifier: str, now_ms: int) -> _Shown:
    """What became of a message for later; of one that was delivered also what became of it since."""
    from acklog.errors import MessageExpired, MessageNotFound

    schedule_id = parse_schedule_id(identifier)
    if schedule_id is None:
        raise UsageError(
            f"{identifier!r} is no schedule id",
            field="MESSAGE_ID",
            hint=HINT_SCHEDULE_ID,
        )
    topic = next((each.name for each in client.topics.list() if each.id == schedule_id.topic_id), None)
    if topic is None:
        raise CommandError(
            "its topic is gone, or this token may not read it",
            exit_code=ExitCode.NOT_FOUND,
            hint="See what there is: acklog topics list. What is deleted with its topic is not delivered.",
        )
    scheduled = client.scheduled.get(topic, identifier)
    explanation = explain_schedule(scheduled, now_ms)
    document: dict[str, object] = {"scheduled": {**api_document(scheduled), **_words(explanation)}}
    views: list[View] = [schedule_fields(scheduled, explanation, now_ms)]
    if scheduled.message_id is None:
        return document, views
    try:
        of_message, views_of_message = _of_message(client, scheduled.message_id, now_ms)
    except (MessageExpired, MessageNotFound) as error:
        return document, [*views, Sentence(f"That message is not in the log any more: {error.detail}")]
    return {**document, **of_message}, [*views, *views_of_message]


def _of_message(client: "Client", message_id: str, now_ms: int) -> _Shown:
    looked = client.look(message_id)
    message = looked.message
    explained = [(state, _explain(client, looked, state, now_ms)) for state in looked.groups]
    rows = [
        *stored_rows(message, now_ms),
        *recurring_rows(message.headers, message.topic),
        ("body", Cell(body_cell(message), "strong")),
    ]
    views: list[View] = [Fields(rows, title=message_id)]
    views += [_fields(state, explanation, now_ms) for state, explanation in explained]
    if not explained:
        views.append(
            Sentence(
                f"No group has read its partition yet. Receive from it: acklog receive {message.topic} --group GROUP"
            )
        )
    return {"message": message, "groups": [_document(state, each) for state, each in explained]}, views


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
    return {**document, **_words(explanation)}


def _words(explanation: Explanation) -> dict[str, object]:
    return {"what": explanation.what, "then": explanation.then, "toDo": explanation.do}
