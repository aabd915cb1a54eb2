"""By which numbers partitions are whose."""

from msgspec.structs import replace

from acklog.catalog import Group, GroupSettings, PartitionProgress
from acklog.command.group_members import OWNERS_SHOWN_MAX, owners_view
from acklog.command.views import Table
from acklog.members import AssignedPartition, MemberOfGroup

SETTINGS = GroupSettings("earliest", 30_000, 3, 1_000, 600_000, 100)


def group_with(assignment: list[AssignedPartition], mode: str = "exclusive") -> Group:
    member = MemberOfGroup("ann", 1, 1, ["orders"], [], "", 15_000, False, "", 0, assignment)
    return Group("mail", "g", mode, SETTINGS, 1, members=[member])


def test_partitions_without_an_owner_and_those_nobody_has_read_are_there_too() -> None:
    progress = [PartitionProgress("orders", 0, generation=3), PartitionProgress("orders", 2)]
    group = group_with([AssignedPartition("orders", 0, 7), AssignedPartition("orders", 10, 1)])
    [table] = owners_view(group, progress)
    assert isinstance(table, Table)
    assert [list(row) for row in table.rows] == [
        ["orders", "0", "ann", "7", "3"],
        ["orders", "2", "nobody", "", ""],
        ["orders", "10", "ann", "1", ""],
    ]


def test_groups_whose_partitions_are_everybodys_have_none() -> None:
    assert owners_view(group_with([], "keyOrdered"), [PartitionProgress("orders", 0, generation=3)]) == []
    assert owners_view(replace(group_with([]), members=None), [PartitionProgress("orders", 0)]) == []


def test_it_is_no_longer_than_a_screen_or_two() -> None:
    group = group_with([AssignedPartition("orders", number, 1) for number in range(OWNERS_SHOWN_MAX + 1)])
    [table] = owners_view(group, [])
    assert isinstance(table, Table)
    assert (len(table.rows), "65 partitions" in table.title) == (OWNERS_SHOWN_MAX, True)
    [whole] = owners_view(group_with([AssignedPartition("orders", 0, 1)] * OWNERS_SHOWN_MAX), [])
    assert isinstance(whole, Table)
    assert whole.title == ""
