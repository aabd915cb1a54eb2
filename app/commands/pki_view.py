"""What `acklog pki` shows of certificates: a row each for people, an object each for programs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from acklog.command.views import Cell, Column, Style, Table
from acklog.wire.certificate_end import CertificateEnd, days_left, end_of

if TYPE_CHECKING:
    from app.pki.certificate_file import Certificate

_STYLES: dict[CertificateEnd, Style] = {
    CertificateEnd.FAR: "good",
    CertificateEnd.NEAR: "warning",
    CertificateEnd.PAST: "bad",
}
COLUMNS = [
    Column("kind"),
    Column("name", style="name"),
    Column("hosts"),
    Column("not after (UTC)", may_wrap=False),
    Column("days left", align="right"),
    Column("signed by"),
    Column("note"),
]


@dataclass(frozen=True, slots=True)
class ShownCertificate:
    """`signed_by` "" is an authority that is not in `ca.pem`. `note` is what is wrong, "" for nothing."""

    kind: str
    name: str
    certificate: "Certificate"
    signed_by: str
    note: str = ""

    def document(self, now_ms: int) -> dict[str, object]:
        found = self.certificate
        document: dict[str, object] = {
            "kind": self.kind,
            "name": self.name,
            "hosts": list(found.hosts),
            "identities": list(found.identities),
            "notAfter": _time_text(found.not_after_ms, "T", "Z"),
            "daysLeft": days_left(found.not_after_ms, now_ms=now_ms),
            "signedBy": self.signed_by or None,
            "serial": f"{found.serial:x}",
        }
        return {**document, "note": self.note} if self.note else document

    def row(self, now_ms: int) -> list[Cell | str]:
        found = self.certificate
        style = _STYLES[end_of(found.not_after_ms, now_ms=now_ms)]
        days = Cell(str(days_left(found.not_after_ms, now_ms=now_ms)), style)
        signed_by = self.signed_by or Cell("none of ca.pem", "bad")
        ends = _time_text(found.not_after_ms, " ", "")
        return [self.kind, self.name, ", ".join(found.hosts), ends, days, signed_by, Cell(self.note, "bad")]


def table_of(shown: Sequence[ShownCertificate], *, now_ms: int, empty: str) -> Table:
    return Table(COLUMNS, [each.row(now_ms) for each in shown], empty=empty)


def _time_text(time_ms: int, between: str, zone: str) -> str:
    return datetime.fromtimestamp(time_ms / 1000, tz=UTC).strftime(f"%Y-%m-%d{between}%H:%M:%S{zone}")
