"""Completion of names that only the server knows. Nothing that goes wrong here may disturb the shell."""

import typer

from acklog.command.session import Session, Surroundings

TIMEOUT_S = 2.0


def complete_topics(context: typer.Context, incomplete: str) -> list[str]:
    """The server's topics that begin like that."""
    return [name for name in _ask(context, "topics") if name.startswith(incomplete)]


def complete_groups(context: typer.Context, incomplete: str) -> list[str]:
    """The server's groups that begin like that."""
    return [name for name in _ask(context, "groups") if name.startswith(incomplete)]


def complete_dead_letter_topics(context: typer.Context, incomplete: str) -> list[str]:
    """Those of the topics that look like dead-letter topics."""
    return [name for name in complete_topics(context, incomplete) if name.endswith(".dlq")]


def complete_namespaces(context: typer.Context, incomplete: str) -> list[str]:
    """The namespaces that the token may do something in, and that begin like that."""
    return [name for name in _ask(context, "namespaces") if name.startswith(incomplete)]


def _ask(context: typer.Context, what: str) -> list[str]:
    session = context.find_object(Session) or Session(Surroundings.of_process())
    session.options.timeout_s = min(session.options.timeout_s, TIMEOUT_S)
    try:
        with session.client() as client:
            if what == "namespaces":
                return [each.name for each in client.namespaces.list()]
            listed = client.topics.list() if what == "topics" else client.groups.list()
            return [each.name for each in listed]
    except Exception:
        return []
