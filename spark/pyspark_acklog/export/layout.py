"""What a table looks like: fixed by its first run, because a directory with two kinds of files cannot be read."""

from typing import Literal, get_args

import msgspec
import msgspec.structs

from pyspark_acklog.export.failures import LayoutError

FileFormat = Literal["parquet", "json", "orc", "delta"]
FORMATS: tuple[str, ...] = get_args(FileFormat)
SUFFIXES = {"parquet": "parquet", "json": "json", "orc": "orc", "delta": "parquet"}
DATE = "date"
EVENT_DATE = "eventDate"
DERIVED_COLUMNS = {
    DATE: "appendTime",
    EVENT_DATE: "timestamp",
}
"""Columns that a table may be partitioned by without being told what is in the bodies: the UTC date of another one."""


class TableLayout(msgspec.Struct, frozen=True, rename="camel"):
    """`body_schema` is Spark's DDL for columns of JSON bodies, "" for none; `partition_by` names columns of it, or
    those of DERIVED_COLUMNS. `has_body_text`: also the column `body`."""

    format: FileFormat = "parquet"
    partition_by: tuple[str, ...] = (DATE,)
    body_schema: str = ""
    has_body_text: bool = False
    compression: str = ""

    @property
    def suffix(self) -> str:
        return SUFFIXES[self.format]


class LayoutWish(msgspec.Struct, frozen=True):
    """What a run asks for; None is whatever the table has, or the default."""

    format: FileFormat | None = None
    partition_by: tuple[str, ...] | None = None
    body_schema: str | None = None
    has_body_text: bool | None = None
    compression: str | None = None

    def on(self, existing: TableLayout | None, *, number: int = 0) -> TableLayout:
        """The table's layout as the run is to use it; `number` is that of the last run.

        Raises LayoutError where the table is of another kind. Compression may differ from run to run.
        """
        base = existing or TableLayout()
        if existing is not None:
            for field, option in _FIXED:
                has, wants = getattr(existing, field), getattr(self, field)
                if wants is not None and has != wants:
                    raise LayoutError(
                        f"the export was made with {option} {_shown(has)} (run {number}), not {_shown(wants)}:"
                        f" leave {option} out, or export to another path"
                    )
        given = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not None}
        return msgspec.structs.replace(base, **given)


_FIXED = (
    ("format", "--format"),
    ("partition_by", "--partition-by"),
    ("body_schema", "--schema"),
    ("has_body_text", "--body"),
)


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value) or "none"
    return str(value) or "''"


def columns_of(text: str) -> tuple[str, ...]:
    """`date,carrier` as names; `none` and nothing as none. Raises LayoutError for a name that comes twice."""
    names = tuple(name.strip() for name in text.split(",") if name.strip() and name.strip() != "none")
    if len(set(names)) != len(names):
        raise LayoutError(f"--partition-by {text} names a column twice")
    return names
