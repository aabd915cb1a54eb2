"""`acklog pki issue`: a certificate and its key for a node, a gateway, a server, a client or etcd."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.session import session_of
from acklog.command.tree import CommandTyper
from acklog.command.views import Sentence
from app.commands.pki_session import DIRECTORY, DIRECTORY_DEFAULT, directory_of, random_bits

if TYPE_CHECKING:
    from app.pki.certificate_subject import CertificateKind, CertificateSubject

DAYS_DEFAULT = 90
_HOSTS = typer.Option("--host", metavar="HOST", help="A name or address under which it is called; may repeat.")
_SERVER_HOSTS = typer.Option(
    "--host", metavar="HOST", help="A name or address under which it is called; may repeat [localhost]."
)
_DAYS = typer.Option("--days", metavar="N", help="How long it is valid.")
_ID = typer.Argument(metavar="ID", help="The node's number, as its --id has it.")
_NAME = typer.Argument(metavar="NAME", help="Who it is; the name of the files has it, too.")
_FILE_NAME = typer.Argument(metavar="NAME", help="Tells its files from those of others; it says nothing to anybody.")

Hosts = Annotated[list[str] | None, _HOSTS]
Days = Annotated[int, _DAYS]
Directory = Annotated[str, DIRECTORY]

command = CommandTyper(help="Make a certificate and its key, signed by the authority.", no_args_is_help=True)


@command.command("node")
def node(
    context: typer.Context,
    node_id: Annotated[str, _ID],
    hosts: Hosts = None,
    days: Days = DAYS_DEFAULT,
    directory: Directory = DIRECTORY_DEFAULT,
) -> None:
    """For a storage node of a cluster: other nodes and gateways call it, and it calls nodes."""
    from app.pki.certificate_subject import CertificateKind

    _issue(context, CertificateKind.NODE, node_id, hosts, days=days, directory=directory)


@command.command("gateway")
def gateway(
    context: typer.Context,
    name: Annotated[str, _FILE_NAME] = "",
    hosts: Hosts = None,
    days: Days = DAYS_DEFAULT,
    directory: Directory = DIRECTORY_DEFAULT,
) -> None:
    """For a gateway of a cluster: clients call it, and it calls nodes."""
    from app.pki.certificate_subject import CertificateKind

    _issue(context, CertificateKind.GATEWAY, name, hosts, days=days, directory=directory)


@command.command("server")
def server(
    context: typer.Context,
    name: Annotated[str, _FILE_NAME] = "",
    hosts: Annotated[list[str] | None, _SERVER_HOSTS] = None,
    days: Days = DAYS_DEFAULT,
    directory: Directory = DIRECTORY_DEFAULT,
) -> None:
    """For the embedded server (acklog serve): clients call it."""
    from app.pki.certificate_subject import CertificateKind
    from app.pki.host import LOOPBACK

    _issue(context, CertificateKind.SERVER, name, hosts or list(LOOPBACK), days=days, directory=directory)


@command.command("client")
def client(
    context: typer.Context,
    name: Annotated[str, _NAME],
    days: Days = DAYS_DEFAULT,
    directory: Directory = DIRECTORY_DEFAULT,
) -> None:
    """For a client, where servers ask who calls."""
    from app.pki.certificate_subject import CertificateKind

    _issue(context, CertificateKind.CLIENT, name, None, days=days, directory=directory)


@command.command("etcd")
def etcd(
    context: typer.Context,
    name: Annotated[str, _NAME],
    hosts: Hosts = None,
    days: Days = DAYS_DEFAULT,
    directory: Directory = DIRECTORY_DEFAULT,
) -> None:
    """For a member of etcd: nodes, gateways and other members call it, and it calls members."""
    from app.pki.certificate_subject import CertificateKind

    _issue(context, CertificateKind.ETCD, name, hosts, days=days, directory=directory)


def _issue(
    context: typer.Context,
    kind: "CertificateKind",
    name: str,
    hosts: Sequence[str] | None,
    *,
    days: int,
    directory: str,
) -> None:
    from app.commands.pki_session import telling_failures
    from app.pki.certificate_file import certificate_of
    from app.pki.certificate_order import CertificateOrder, issue
    from app.pki.certificate_subject import CertificateSubject
    from app.pki.host import checked_hosts
    from app.pki.private_key import new_private_key

    session = session_of(context)
    with telling_failures():
        subject = CertificateSubject(kind, name)
        order = CertificateOrder(subject, checked_hosts(list(hosts or ())), days)
    with directory_of(session, directory) as pki:
        _check_free(subject, is_there=pki.has(subject))
        authority, key = pki.trust().signer(), new_private_key()
        made = issue(order, authority, key=key, random_bits=random_bits(), now_ms=session.now_ms())
        paths = [str(each) for each in pki.write(subject, made, key)]
    found = certificate_of(made)
    document = {"certificate": paths[0], "key": paths[1], "hosts": list(found.hosts), "identity": subject.uri}
    called = f" for {', '.join(found.hosts)}" if found.hosts else ""
    session.output.show(document, Sentence(f"{paths[0]} and {paths[1]}: {subject.uri}{called}, {days} days."))


def _check_free(subject: "CertificateSubject", *, is_there: bool) -> None:
    from app.pki.pki_error import PkiError

    if is_there:
        hint = "Renew it by acklog pki renew, or remove its two files first to have it say something else."
        raise PkiError(f"{subject.file_stem} has a certificate already", hint=hint)
