"""The tables of the coordination file, and the checksum of a row."""

from typing import Any

from crc32c import crc32c
from sqlalchemy import (
    Column,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    bindparam,
    delete,
)
from sqlalchemy.dialects.sqlite import insert

from cluster.ports.coordination import KeyValue

FORMAT = 1

metadata = MetaData()
items_table = Table(
    "items",
    metadata,
    Column("key", String, primary_key=True),
    Column("value", LargeBinary, nullable=False),
    Column("create_revision", Integer, nullable=False),
    Column("mod_revision", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("lease_id", Integer, nullable=False),
    Column("checksum", Integer),  # NULL: an earlier version wrote the row
)
store_table = Table(
    "store",
    metadata,
    Column("only_row", Integer, primary_key=True),
    Column("format", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("openings", Integer, nullable=False),
)
_columns = [column for column in items_table.columns if column.name != "key"]
put_row = insert(items_table)
put_row = put_row.on_conflict_do_update(
    index_elements=["key"], set_={c.name: put_row.excluded[c.name] for c in _columns}
)
# An earlier version leaves the checksum as it was.
FORGET_CHECKSUM = """CREATE TRIGGER IF NOT EXISTS forget_checksum AFTER UPDATE OF value ON items
WHEN NEW.checksum IS OLD.checksum BEGIN UPDATE items SET checksum = NULL WHERE key = NEW.key; END"""
remove_row = delete(items_table).where(items_table.c.key == bindparam("removed_key"))


def row_of(item: KeyValue) -> dict[str, Any]:
    return {
        "key": item.key,
        "value": item.value,
        "create_revision": item.create_revision,
        "mod_revision": item.mod_revision,
        "version": item.version,
        "lease_id": item.lease_id,
        "checksum": checksum_of(item),
    }


def checksum_of(item: KeyValue) -> int:
    """CRC-32C over everything in the row."""
    numbers = f"{item.key}\0{item.create_revision}\0{item.mod_revision}\0{item.version}\0{item.lease_id}\0"
    return int(crc32c(item.value, crc32c(numbers.encode())))
