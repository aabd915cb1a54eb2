"""`acklog tokens`: tokens that are stored for all gateways, and access keys for their files."""

import secrets
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from acklog.command.access_keys import NewAccessKey
from acklog.command.arguments import YesOption
from acklog.command.confirmation import confirm
from acklog.command.failures import UsageError
from acklog.command.quantities import parse_duration_ms
from acklog.command.right_view import right_text, token_rights_text
from acklog.command.session import Session, session_of
from acklog.command.times import ago_text, clock_text, future_moment
from acklog.command.tree import CommandTyper
from acklog.command.views import Cell, Column, Fields, Table

if TYPE_CHECKING:
    from acklog.tokens import KnownToken, NewToken, TokenRight

command = CommandTyper(name="tokens", help="Tokens that are stored for all gateways.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The token's name.", show_default=False)]
QuotaOption = int | None


@command.command("create")
def create(
    context: typer.Context,
    name: NameArgument,
    role: Annotated[
        list[str] | None,
        typer.Option(
            "--role", metavar="ROLE", help="producer, consumer, viewer, operator, auditor, admin; may repeat."
        ),
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option("--topic", metavar="PATTERN", help="Its roles are for these; may repeat.")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option("--group", metavar="PATTERN", help="Its roles are for these; may repeat.")
    ] = None,
    right: Annotated[
        list[str] | None,
        typer.Option("--right", metavar="JSON", help='{"allow": ["send"], "topics": ["orders.*"]}; may repeat.'),
    ] = None,
    expires: Annotated[str | None, typer.Option("--expires", metavar="TIME", help="+90d, or a time.")] = None,
    requests: Annotated[
        QuotaOption, typer.Option("--quota-requests", metavar="NUMBER", min=1, help="Per second.")
    ] = None,
    messages: Annotated[
        QuotaOption, typer.Option("--quota-messages", metavar="NUMBER", min=1, help="Per second.")
    ] = None,
    size_bytes: Annotated[
        QuotaOption, typer.Option("--quota-bytes", metavar="NUMBER", min=1, help="Per second.")
    ] = None,
) -> None:
    """Make a token, and print it: nobody can show it again."""
    session = session_of(context)
    with session.client() as client:
        made = client.tokens.create(
            name,
            roles=role or [],
            rights=[_right(text) for text in right or []],
            topics=topic,
            groups=group,
            expires_at=None if expires is None else future_moment(expires, now_ms=session.now_ms(), field="--expires"),
            requests_per_second=requests,
            messages_per_second=messages,
            bytes_per_second=size_bytes,
        )
    _show_new(session, made)


@command.command("list")
def list_all(context: typer.Context) -> None:
    """List them, without their secrets; those of tokens files are not among them."""
    session = session_of(context)
    with session.client() as client:
        found = client.tokens.list()
    now_ms = session.now_ms()
    rows: list[list[Cell | str]] = [
        [
            Cell(each.name, "name"),
            token_rights_text(each),
            ", ".join(each.topics or ["*"]) if each.roles else "",
            "" if each.expires_at_ms is None else ago_text(each.expires_at_ms, now_ms),
            "" if each.earlier_until_ms is None else f"two secrets, one ends {ago_text(each.earlier_until_ms, now_ms)}",
        ]
        for each in found
    ]
    columns = [
        Column("name", may_wrap=False),
        Column("rights"),
        Column("topics"),
        Column("expires"),
        Column("rotation"),
    ]
    table = Table(columns, rows, empty="No tokens are stored.")
    session.output.show({"tokens": [msgspec.to_builtins(each) for each in found]}, table)


@command.command("rotate")
def rotate(
    context: typer.Context,
    name: NameArgument,
    grace: Annotated[
        str | None, typer.Option("--grace", metavar="DURATION", help="How long the secret before is good: 1h; 0s.")
    ] = None,
    discard: Annotated[
        str | None, typer.Option("--discard", metavar="WHICH", help="Where two are good: newest or oldest ends.")
    ] = None,
) -> None:
    """Give it another secret, and print it; the one before is good for an hour more."""
    session = session_of(context)
    grace_s = None if grace is None else parse_duration_ms(grace, field="--grace") // 1000
    with session.client() as client:
        _show_new(session, client.tokens.rotate(name, grace_seconds=grace_s, discard=discard))


@command.command("revoke")
def revoke(context: typer.Context, name: NameArgument, is_yes: YesOption = False) -> None:
    """Let nobody in with it any more."""
    session = session_of(context)
    confirm(session, f"Nobody gets in with the token {name} any more. Revoke it?", is_yes=is_yes)
    with session.client() as client:
        client.tokens.revoke(name)
    session.output.show({"token": name, "revoked": True}, Fields([("revoked", Cell(name, "name"))]))


@command.command("access-key")
def access_key(context: typer.Context) -> None:
    """Make an access key for a client of SQS, and print it as it stands in a tokens file; no server is asked."""
    output = session_of(context).output
    made = NewAccessKey.made(secrets.choice)
    output.note("Paste it below its token in the gateways' tokens file, and reload them. The client has the same two.")
    if output.is_json:
        output.show({"id": made.id, "secret": made.secret})
    else:
        output.put_text(made.toml())


def _right(text: str) -> "TokenRight":
    """Raises UsageError."""
    from acklog.tokens import TokenRight

    try:
        return msgspec.json.decode(text, type=TokenRight)
    except msgspec.DecodeError as error:
        hint = 'Such as {"allow": ["receive", "settle"], "topics": ["orders.*"], "groups": ["billing"]}.'
        raise UsageError(f"no right: {error}", field="--right", hint=hint) from error


def _show_new(session: Session, new: "NewToken") -> None:
    """On standard output alone, so that it can be piped."""
    made = new.made
    rows: list[tuple[str, Cell | str]] = [("token", new.token), *_rows(made)]
    session.output.note("Keep it: it is not shown again.")
    session.output.show({"token": new.token, **msgspec.to_builtins(made)}, Fields(rows))


def _rows(token: "KnownToken") -> list[tuple[str, Cell | str]]:
    rows: list[tuple[str, Cell | str]] = [("name", Cell(token.name, "name"))]
    if token.roles:
        rows.append(("roles", ", ".join(token.roles)))
        rows.append(("topics", ", ".join(token.topics or ["*"])))
        if token.groups:
            rows.append(("groups", ", ".join(token.groups)))
    rows += [("right", right_text(each)) for each in token.rights]
    if token.expires_at_ms is not None:
        rows.append(("expires", clock_text(token.expires_at_ms)))
    if token.earlier_until_ms is not None:
        rows.append(("the one before", f"good until {clock_text(token.earlier_until_ms)}"))
    return rows
