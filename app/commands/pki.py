"""`acklog pki`: a small certificate authority for those who have none."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.failures import CommandError, UsageError
from acklog.command.session import Session, session_of
from acklog.command.views import Sentence
from app.commands.pki_session import DIRECTORY, DIRECTORY_DEFAULT, directory_of, random_bits, telling_failures
from app.commands.pki_view import ShownCertificate, table_of

if TYPE_CHECKING:
    from app.commands.pki_directory import PkiDirectory
    from app.pki.certificate_subject import CertificateSubject

AUTHORITY_DAYS_DEFAULT = 3650
WITHIN_DAYS_DEFAULT = 30
_NEW_DIRECTORY = typer.Argument(metavar="DIR", help="A directory that is not there yet, or is empty.")
_AUTHORITY_DAYS = typer.Option("--days", metavar="N", help="How long the authority is valid.")
_EMPTY = "Nothing is signed yet: acklog pki issue."


def init(
    context: typer.Context,
    directory: Annotated[str, _NEW_DIRECTORY] = DIRECTORY_DEFAULT,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What it is called [Acklog private CA].")] = "",
    days: Annotated[int, _AUTHORITY_DAYS] = AUTHORITY_DAYS_DEFAULT,
) -> None:
    """Make a certificate authority.

    Its key stays here, and ca.pem is for everybody. Whoever has the key can be any node, server and client: keep the
    directory away from servers, and have a backup.
    """
    from app.commands.pki_directory import TRUST_NAME, PkiDirectory
    from app.pki.authority import NAME_DEFAULT, new_authority
    from app.pki.private_key import new_private_key
    from app.pki.trust import Trust

    session = session_of(context)
    with telling_failures():
        made = new_authority(
            name or NAME_DEFAULT,
            key=new_private_key(),
            random_bits=random_bits(),
            now_ms=session.now_ms(),
            days=days,
        )
        PkiDirectory.made(Path(directory), Trust((made.certificate,), made.key))
    document = {"directory": directory, "name": made.name, "trust": str(Path(directory) / TRUST_NAME)}
    session.output.show(document, Sentence(f"{made.name}, for {days} days. Hand out {document['trust']} to everybody."))


def renew(
    context: typer.Context,
    directory: Annotated[str, DIRECTORY] = DIRECTORY_DEFAULT,
    within_days: Annotated[
        int, typer.Option("--within-days", metavar="N", min=0, max=3650, help="Renew what ends within so many days.")
    ] = WITHIN_DAYS_DEFAULT,
    is_all: Annotated[bool, typer.Option("--all", help="Renew every certificate, by the newest authority.")] = False,
    days: Annotated[int | None, typer.Option("--days", metavar="N", help="How long they are valid; as before.")] = None,
) -> None:
    """Renew certificates that end soon.

    With new keys, for the same hosts, and for as long as before.
    """
    from app.commands.pki_renewal import Renewal
    from app.pki.certificate_file import certificate_of

    session = session_of(context)
    shown: list[ShownCertificate] = []
    try:
        with directory_of(session, directory) as pki:
            renewal = Renewal(pki, now_ms=session.now_ms(), days=days)
            trust = pki.trust()
            for each, made in renewal.of_all() if is_all else renewal.of_those_that_end_within(within_days):
                signer = trust.name_of_signer(made)
                shown.append(ShownCertificate(each.kind.value, each.name, certificate_of(made), signer))
    except CommandError:
        if shown:
            _show_renewed(session, shown, empty="")
        raise
    _show_renewed(session, shown, empty=_EMPTY if is_all else f"Nothing ends within {within_days} days.")


def show(context: typer.Context, directory: Annotated[str, DIRECTORY] = DIRECTORY_DEFAULT) -> None:
    """Show the authority and what it has signed."""
    session = session_of(context)
    with directory_of(session, directory) as pki:
        shown = _shown(pki)
    now_ms = session.now_ms()
    document = {"directory": directory, "certificates": [each.document(now_ms) for each in shown]}
    session.output.show(document, table_of(shown, now_ms=now_ms, empty=_EMPTY))


def rotate_ca(
    context: typer.Context,
    directory: Annotated[str, DIRECTORY] = DIRECTORY_DEFAULT,
    days: Annotated[int | None, _AUTHORITY_DAYS] = None,
    is_finish: Annotated[bool, typer.Option("--finish", help="Trust the new authority alone.")] = False,
) -> None:
    """Let another authority follow, in three steps.

    Trust never breaks: rotate-ca makes it and puts it into ca.pem beside the old one: hand ca.pem out. renew --all lets
    it sign everything anew: hand that out, too. rotate-ca --finish takes the old one out of ca.pem, which is handed out
    once more.
    """
    session = session_of(context)
    if is_finish and days is not None:
        raise UsageError("--days is about a new authority, and --finish makes none", field="--days")
    with directory_of(session, directory) as pki:
        if is_finish:
            _finish(session, pki)
        else:
            _begin(session, pki, AUTHORITY_DAYS_DEFAULT if days is None else days)


def _show_renewed(session: Session, shown: Sequence[ShownCertificate], *, empty: str) -> None:
    now_ms = session.now_ms()
    document = {"renewed": [each.document(now_ms) for each in shown]}
    session.output.show(document, table_of(shown, now_ms=now_ms, empty=empty))


def _begin(session: Session, pki: "PkiDirectory", days: int) -> None:
    from app.pki.authority import base_name, new_authority
    from app.pki.private_key import new_private_key

    trust = pki.trust()
    trust.check_start()
    old = trust.signer()
    made = new_authority(
        base_name(old.certificate),
        key=new_private_key(),
        random_bits=random_bits(),
        now_ms=session.now_ms(),
        days=days,
    )
    pki.write_next_key(made.key)
    pki.write_trust((made.certificate, *trust.authorities))
    document = {"old": old.name, "new": made.name, "step": "distribute ca.pem"}
    advice = "Hand out ca.pem to everybody; when all have it: acklog pki renew --all."
    session.output.show(document, Sentence(f"{made.name} follows {old.name}. {advice}"))


def _finish(session: Session, pki: "PkiDirectory") -> None:
    trust = pki.trust()
    trust.check_finish({each.file_stem: pki.certificate(each) for each in pki.subjects()})
    newest = trust.newest()
    pki.let_next_sign()
    pki.write_trust((newest.certificate,))
    document = {"new": newest.name, "step": "done"}
    session.output.show(document, Sentence(f"{newest.name} is the only authority. Hand out ca.pem once more."))


def _shown(pki: "PkiDirectory") -> Sequence[ShownCertificate]:
    from app.pki.certificate_file import certificate_of, name_text

    trust = pki.trust()
    trust.signer()  # a key of another authority is told at once, and not when something is to be signed
    shown = [
        ShownCertificate("ca", name_text(each.subject), certificate_of(each), name_text(each.issuer))
        for each in trust.authorities
    ]
    for subject in pki.subjects():
        found = pki.certificate(subject)
        note = _note(pki, subject)
        shown.append(
            ShownCertificate(subject.kind.value, subject.name, certificate_of(found), trust.name_of_signer(found), note)
        )
    return shown


def _note(pki: "PkiDirectory", subject: "CertificateSubject") -> str:
    return "" if pki.has_key_of(subject) else "its key is missing or another's: acklog pki renew"
