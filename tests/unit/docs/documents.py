"""Reading the documentation as data: its tables, its code blocks."""

import re
import struct
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[3]
_INTEGERS = {"u8": ">B", "u16": ">H", "i16": ">h", "u32": ">I", "i32": ">i", "u64": ">Q", "i64": ">q"}


class FieldRow(NamedTuple):
    """A row of a table that lays out a structure byte by byte."""

    offset: int
    size: int
    type: str
    name: str


def read_document(name: str) -> str:
    return (REPOSITORY / "docs" / name).read_text()


def section(document: str, heading: str) -> str:
    """What stands under a heading, up to the next heading of any level."""
    match = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", document, re.MULTILINE | re.DOTALL)
    assert match is not None, f"there is no heading {heading!r}"
    return match[1]


def table(text: str) -> list[list[str]]:
    """The cells of the first Markdown table, without its head."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def layout(document: str, heading: str) -> list[FieldRow]:
    """The fields of a structure; they must follow one another without a gap."""
    fields = [FieldRow(int(row[0]), int(row[1]), row[2], row[3]) for row in table(section(document, heading))]
    expected = 0
    for field in fields:
        assert field.offset == expected, f"{heading}: {field.name} is at {field.offset}, not {expected}"
        expected += field.size
    return fields


def decode(fields: list[FieldRow], content: bytes) -> dict[str, int | bytes]:
    """The values of a structure, by the document's own table."""
    values: dict[str, int | bytes] = {}
    for field in fields:
        part = content[field.offset : field.offset + field.size]
        if field.type == "bytes":
            values[field.name] = part
        else:
            kind = struct.Struct(_INTEGERS[field.type])
            assert kind.size == field.size, f"{field.name} has {field.size} bytes and the type {field.type}"
            [values[field.name]] = kind.unpack(part)
    return values


def hex_dump(text: str) -> bytes:
    """The bytes of the first ```hex block: an address of four digits, then up to sixteen bytes."""
    match = re.search(r"^```hex\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert match is not None, "there is no hex block"
    content = b""
    for line in match[1].splitlines():
        address, _, digits = line.partition("  ")
        assert int(address, 16) == len(content), f"the address {address} is wrong"
        content += bytes.fromhex(digits)
    return content
