"""Changes of what is recorded and for how long, as records themselves: who turns the log off is in it."""

from collections.abc import Mapping

from app.audit.audit_mode import AuditMode
from app.audit.audit_record import AuditRecord, AuditResult
from app.gateway.dependencies import Gateway
from app.services.audit_journal import AuditJournal

RELOAD = "reload"
"""The operation of such a record. It is none of HTTP's: whoever runs the process does it."""


class AuditSettings:
    """From when a gateway serves on. A last record when the log is turned off, a first one when it is turned on again;
    nothing of what changes while it is off."""

    def __init__(self, gateway: Gateway, journal: AuditJournal) -> None:
        self._gateway = gateway
        self._journal = journal
        self._known = self._now()
        gateway.settings_listeners.add(self._note)

    def _note(self) -> None:
        before, now = self._known, self._now()
        self._known = now
        changed = {name: [before[name], value] for name, value in now.items() if value != before[name]}
        if changed and {before["audit"], now["audit"]} != {AuditMode.OFF.value}:
            journal = self._journal
            now_ms = self._gateway.clock.now_ms()
            journal.put(
                AuditRecord(
                    id=journal.new_id(), time=now_ms, result=AuditResult.ALLOWED, operation=RELOAD, changed=changed
                )
            )

    def _now(self) -> Mapping[str, object]:
        settings = self._gateway.settings
        return {
            "audit": self._journal.mode.value,
            "audit_retention_ms": settings.audit_retention_ms,
            "audit_retention_bytes": settings.audit_retention_bytes,
        }
