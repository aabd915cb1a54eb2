"""`acklog encryption`: by which keys topics are encrypted, and another one for a topic."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import TopicArgument
from acklog.command.encryption_checks import audit_log_keys
from acklog.command.quantities import count_text
from acklog.command.session import Session, session_of
from acklog.command.times import ago_text
from acklog.command.tree import CommandTyper
from acklog.command.views import Cell, Column, Table

if TYPE_CHECKING:
    from acklog.encryption import EncryptionState, TopicDataKey

LOOK_INTERVAL_S = 0.5
command = CommandTyper(name="encryption", help="Topics that are encrypted at rest.", no_args_is_help=True)


@command.command("status")
def status(
    context: typer.Context,
    topics: Annotated[
        list[str] | None, typer.Argument(metavar="[TOPIC]...", help="All that are encrypted, unless named.")
    ] = None,
) -> None:
    """Show the data keys of topics, and which master key has wrapped each."""
    session = session_of(context)
    with session.client() as client:
        names = topics or [topic.name for topic in client.topics.list() if topic.config.encryption == "on"]
        found = [client.encryption.status(name) for name in names]
        audit_log = None if topics else audit_log_keys(client)
    if audit_log is not None:
        found.append(audit_log)
    _show(session, found)


@command.command("rotate")
def rotate(
    context: typer.Context,
    topic: TopicArgument,
    wait: Annotated[bool, typer.Option("--wait", help="Until the key is there.")] = False,
) -> None:
    """Have what is stored of a topic from now on encrypted by another data key. Old batches stay readable."""
    session = session_of(context)
    with session.client() as client:
        found = client.encryption.rotate(topic)
        while wait and not found.is_rotated:
            session.pause(LOOK_INTERVAL_S)
            found = client.encryption.status(topic)
    _show(session, [found])


def _show(session: Session, found: "list[EncryptionState]") -> None:
    columns = [
        Column("topic", style="name"),
        Column("encryption"),
        Column("data key", align="right"),
        Column("made"),
        Column("wrapped by"),
    ]
    now_ms = session.now_ms()
    rows = [
        [state.topic, state.encryption, str(key.number), ago_text(key.created_at_ms, now_ms), _wrapped_by(state, key)]
        for state in found
        for key in state.data_keys
    ]
    for state in found:
        missing = state.data_keys_wanted - len(state.data_keys)
        if missing > 0:
            rows.append([state.topic, state.encryption, "", Cell("not yet", "warning"), count_text(missing, "key")])
    empty = "No topic is encrypted. For one: acklog topics update TOPIC --encryption on"
    session.output.show({"topics": found}, Table(columns, rows, empty=empty))


def _wrapped_by(state: "EncryptionState", key: "TopicDataKey") -> Cell | str:
    return Cell(f"{key.master_key}, not the nodes' own", "warning") if key in state.earlier_keys else key.master_key
