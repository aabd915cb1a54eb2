"""The members of an exclusive group, and which partitions are whose, for people."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from acklog.command.times import duration_text
from acklog.command.views import Cell, Column, Sentence, Table, View

if TYPE_CHECKING:
    from acklog.catalog import Group, PartitionProgress
    from acklog.members import AssignedPartition, MemberOfGroup

OWNERS_SHOWN_MAX = 64
HEARD_MS = 1_000
"""Who was heard so lately is there now."""


def members_view(group: "Group") -> list[View]:
    """Nothing for a group that has none by its mode."""
    if group.mode != "exclusive":
        return []
    if group.members is None:
        why = group.problem.detail if group.problem is not None else "the server does not say"
        return [Sentence(f"Its members cannot be asked for: {why}", "bad")]
    columns = [
        Column("member", style="name"),
        Column("partitions"),
        Column("epoch", align="right"),
        Column("heard"),
        Column("subscribed to"),
        Column("rack"),
    ]
    rows = [_row(member) for member in group.members]
    if not any(member.rack for member in group.members):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    empty = "It has no members: nobody gets its messages."
    return [Table(columns, rows, empty=empty)]


def owners_view(group: "Group", progress: "Sequence[PartitionProgress]") -> list[View]:
    """By which ownership each partition is whose, in a group whose partitions are its members'."""
    if group.mode != "exclusive" or group.members is None:
        return []
    generations = {(each.topic, each.partition): each.generation for each in progress}
    owners = {_place(each): (member.member, each.ownership) for member in group.members for each in member.assignment}
    places = sorted(owners.keys() | generations.keys())
    columns = [
        Column("topic", style="name"),
        Column("partition", align="right"),
        Column("owner"),
        Column("ownership", align="right"),
        Column("generation", align="right"),
    ]
    rows: list[list[Cell | str]] = []
    for topic, partition in places[:OWNERS_SHOWN_MAX]:
        owner, ownership = owners.get((topic, partition), ("nobody", None))
        generation = generations.get((topic, partition))
        rows.append([topic, str(partition), owner, _number_text(ownership), _number_text(generation)])
    title = "" if len(places) <= OWNERS_SHOWN_MAX else f"the first of {len(places):,} partitions; all: --json"
    return [Table(columns, rows, title=title)] if rows else []


def _number_text(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def members_text(group: "Group") -> str:
    """How many there are, and the group's epoch, which rises with every change of them."""
    if group.members is None:
        return "unknown"
    return f"{len(group.members):,}, at epoch {group.group_epoch or 0}"


def owner_of(group: "Group", topic: str, partition: int) -> "MemberOfGroup | None":
    """Whose the partition is; None: nobody's, as far as is known."""
    for member in group.members or ():
        if any((each.topic, each.partition) == (topic, partition) for each in member.assignment):
            return member
    return None


def partitions_text(assignment: "Iterable[AssignedPartition]") -> str:
    """`orders 0-3, 7; payments 1`."""
    by_topic = groupby(sorted(assignment, key=_place), key=lambda each: each.topic)
    found = [f"{topic} {_ranges_text([each.partition for each in several])}" for topic, several in by_topic]
    return "; ".join(found) or "none"


def silence_text(member: "MemberOfGroup") -> str:
    """When it was heard last."""
    return "now" if member.silent_ms < HEARD_MS else f"{duration_text(member.silent_ms)} ago"


def _place(each: "AssignedPartition") -> tuple[str, int]:
    return each.topic, each.partition


def _ranges_text(numbers: Sequence[int]) -> str:
    """Ascending numbers, those in a row as one range."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _row(member: "MemberOfGroup") -> list[Cell | str]:
    is_late = member.silent_ms * 2 > member.session_timeout_ms
    name = f"{member.member} (static)" if member.is_static else member.member
    return [
        Cell(name, "name"),
        partitions_text(member.assignment),
        str(member.member_epoch),
        Cell(silence_text(member), "warning" if is_late else ""),
        ", ".join([*member.topics, *member.patterns]),
        member.rack,
    ]
