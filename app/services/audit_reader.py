"""Reading the audit log: for who has the right to, and nobody else."""

from app.audit.audit_record import AuditRecord
from app.audit.record_text import decode_record
from app.auth.principal import Principal
from app.calls.audit import AuditListing, AuditQuery, FoundRecords
from app.calls.patience import Patience
from app.calls.records import FirstOffset, RecordsCommand, RecordsRead
from app.services.audit_topic import AUDIT_PARTITION
from app.services.catalog import Catalog
from app.services.records import RecordsService
from cluster.model.action import Action
from cluster.model.internal_topics import AUDIT_TOPIC

PAGE_BYTES = 1024 * 1024
PAGES_MAX = 4
"""What one request looks at: beyond it the answer says where to go on."""


CLOCKS_APART_MS_MAX = 5 * 60 * 1000
"""Of machines of a cluster; what is further apart may be left out where `since` is asked for."""


class AuditReader:
    def __init__(self, catalog: Catalog, records: RecordsService) -> None:
        self._catalog = catalog
        self._records = records

    async def read(self, query: AuditQuery, principal: Principal, patience: Patience) -> AuditListing:
        """Raises ServerError FORBIDDEN, and what reading a log raises."""
        principal.require_on_cluster(Action.AUDIT)
        if await self._catalog.latest_topic(AUDIT_TOPIC) is None:
            return AuditListing([], query.after or 0, True)
        found: list[AuditRecord] = []
        command = _first(query)
        for _ in range(PAGES_MAX):
            read = await self._records.read(command, principal, patience)
            page = _found(read, query, query.records_max - len(found))
            found += page.records
            is_at_end = page.next_offset >= read.response.high_watermark
            if page.is_full or is_at_end:
                break
            command = _from(page.next_offset)
        return AuditListing(found, page.next_offset, is_at_end)


def _first(query: AuditQuery) -> RecordsCommand:
    """A record is stored after its time, so those of a time and later are behind what was stored until then; but the
    clocks of gateway and node are two."""
    if query.after is not None:
        return _from(query.after)
    if query.since_ms is not None:
        stored_ms = max(0, query.since_ms - CLOCKS_APART_MS_MAX)
        return RecordsCommand(AUDIT_TOPIC, AUDIT_PARTITION, FirstOffset.GIVEN, 0, stored_ms, PAGE_BYTES, 0)
    return RecordsCommand(AUDIT_TOPIC, AUDIT_PARTITION, FirstOffset.EARLIEST, 0, -1, PAGE_BYTES, 0)


def _from(offset: int) -> RecordsCommand:
    return RecordsCommand(AUDIT_TOPIC, AUDIT_PARTITION, FirstOffset.GIVEN, offset, -1, PAGE_BYTES, 0)


def _found(read: RecordsRead, query: AuditQuery, room: int) -> FoundRecords:
    found: list[AuditRecord] = []
    for _, offset, stored in read.records():
        if len(found) == room:
            return FoundRecords(found, offset, True)
        record = decode_record(stored.body)
        if record is not None:
            record.offset = offset
            if query.matches(record):
                found.append(record)
    return FoundRecords(found, read.next_offset, len(found) == room)
