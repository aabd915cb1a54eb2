"""`acklog profile`: servers and tokens by name."""

from typing import Annotated

import typer

from acklog.command.failures import UsageError
from acklog.command.profiles import Profile
from acklog.command.server_files import ServerFiles
from acklog.command.session import Session, checked_url, session_of
from acklog.command.tree import CommandTyper
from acklog.command.views import Cell, Column, Fields, Table

TOKEN_BYTES_MAX = 4096

command = CommandTyper(name="profile", help="Servers and tokens by name.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The profile.", autocompletion=lambda: _names())]


@command.command("add")
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The profile; an older one of that name is replaced.")],
    ask_token: Annotated[bool, typer.Option("--ask-token", help="Ask for a token, without showing it.")] = False,
    token_stdin: Annotated[bool, typer.Option("--token-stdin", help="Read a token from standard input.")] = False,
) -> None:
    """Add a profile: acklog profile add shop --server https://queue.example.org --ask-token.

    The token is stored in a file that only you can read, and never printed. Of --ca-file, --certificate-file and
    --key-file the paths are kept.
    """
    session = session_of(context)
    if not session.options.server:
        raise UsageError("a profile needs a server", field="--server", hint="Give its address: --server URL.")
    url = checked_url(session.options.server, "--server")
    session.given_files.check(url)
    token = _token(session, is_asked=ask_token, is_piped=token_stdin)
    profile = session.profiles.add(name, server=url, token=token, files=session.given_files.from_anywhere())
    is_current = session.profiles.current() == name
    session.output.note(f"Saved profile {name} in {session.profiles.path}.")
    session.output.show(_document(profile, is_current=is_current), _fields(profile, is_current=is_current))


@command.command("list")
def list_all(context: typer.Context) -> None:
    """List the profiles."""
    session = session_of(context)
    current = session.profiles.current()
    profiles = session.profiles.profiles()
    rows = [
        [
            Cell("*" if each.name == current else "", "good"),
            Cell(each.name, "name"),
            each.server,
            "stored" if each.has_token else "",
        ]
        for each in profiles
    ]
    columns = [Column("use"), Column("name"), Column("server"), Column("token")]
    empty = "There are no profiles. Make one: acklog profile add NAME --server URL"
    documents = [_document(each, is_current=each.name == current) for each in profiles]
    session.output.show({"profiles": documents}, Table(columns, rows, empty=empty))


@command.command("use")
def use(context: typer.Context, name: Name) -> None:
    """Let a profile be the one that is used when nothing else names a server."""
    session = session_of(context)
    session.profiles.use(name)
    profile = session.profiles.get(name)
    session.output.show(_document(profile, is_current=True), _fields(profile, is_current=True))


@command.command("show")
def show(
    context: typer.Context, name: Annotated[str, typer.Argument(metavar="[NAME]", help="The profile.")] = ""
) -> None:
    """Show a profile, or with no name which server commands would ask, and why."""
    session = session_of(context)
    if name:
        profile = session.profiles.get(name)
        is_current = session.profiles.current() == name
        session.output.show(_document(profile, is_current=is_current), _fields(profile, is_current=is_current))
        return
    server = session.server
    document = {"server": server.url, "source": server.source, "hasToken": server.token is not None}
    rows: list[tuple[str, Cell | str]] = [("server", Cell(server.url, "name")), ("by", server.source)]
    if server.profile:
        document["profile"] = server.profile
        rows.append(("profile", server.profile))
    rows.append(("token", "yes" if server.token else "no"))
    document |= _files_document(server.files)
    rows += _files_rows(server.files)
    session.output.show(document, Fields(rows))


@command.command("remove")
def remove(context: typer.Context, name: Name) -> None:
    """Forget a profile and its token."""
    session = session_of(context)
    session.profiles.remove(name)
    session.output.note(f"Removed profile {name}.")
    session.output.show({"removed": name})


def _token(session: Session, *, is_asked: bool, is_piped: bool) -> str | None:
    """The token from where the options say; None for a profile without one."""
    if sum([is_asked, is_piped, bool(session.options.token)]) > 1:
        raise UsageError("the token can come from one place only", hint="Give --token, --ask-token or --token-stdin.")
    token = session.options.token
    if is_asked:
        token = typer.prompt("Token", hide_input=True, err=True)
    elif is_piped:
        token = session.surroundings.stdin.read(TOKEN_BYTES_MAX + 1).strip()
    if not token:
        if is_piped:
            raise UsageError("standard input is empty", field="--token-stdin")
        return None
    if len(token) > TOKEN_BYTES_MAX or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            "that cannot be a token", hint=f"A token has up to {TOKEN_BYTES_MAX} printable ASCII characters, no spaces."
        )
    return token


def _document(profile: Profile, *, is_current: bool) -> dict[str, object]:
    document = {"name": profile.name, "server": profile.server, "hasToken": profile.has_token, "inUse": is_current}
    return document | _files_document(profile.files)


def _fields(profile: Profile, *, is_current: bool) -> Fields:
    return Fields(
        [
            ("name", Cell(profile.name, "name")),
            ("server", profile.server),
            ("token", "stored" if profile.has_token else "none"),
            *_files_rows(profile.files),
            ("in use", Cell("yes", "good") if is_current else "no"),
        ]
    )


def _files_document(files: ServerFiles) -> dict[str, object]:
    names = {"ca_file": "caFile", "certificate_file": "certificateFile", "key_file": "keyFile"}
    return {names[name]: path for name, path in files.named().items()}


def _files_rows(files: ServerFiles) -> list[tuple[str, Cell | str]]:
    return [(name.replace("_", " "), path) for name, path in files.named().items()]


def _names() -> list[str]:
    """For completion."""
    from acklog.command.session import Surroundings

    return [profile.name for profile in Session(Surroundings.of_process()).profiles.profiles()]
