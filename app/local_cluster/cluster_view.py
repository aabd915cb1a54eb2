"""A local cluster as a table, and a change of it as a line."""

from collections.abc import Sequence

from acklog.command.views import Cell, Column, Style, Table
from app.local_cluster.cluster_process import ClusterProcess, Life
from app.local_cluster.condition import Condition

_STYLES: dict[Life, Style] = {
    Life.WAITING: "muted",
    Life.STARTING: "warning",
    Life.READY: "good",
    Life.ENDED: "bad",
    Life.GIVEN_UP: "bad",
    Life.STOPPING: "warning",
    Life.STOPPED: "muted",
}
MIB = 1024 * 1024


def cluster_table(members: Sequence[ClusterProcess], conditions: Sequence[Condition]) -> Table:
    columns = [
        Column("process", "name", may_wrap=False),
        Column("state", may_wrap=False),
        Column("pid", align="right", may_wrap=False),
        Column("address", may_wrap=False),
        Column("role"),
        Column("memory", align="right", may_wrap=False),
        Column("restarts", align="right", may_wrap=False),
    ]
    return Table(columns, [_row(*each) for each in zip(members, conditions, strict=True)])


def _row(member: ClusterProcess, condition: Condition) -> list[Cell | str]:
    memory = "" if condition.memory_bytes is None else f"{condition.memory_bytes // MIB} MiB"
    return [
        member.name,
        Cell(state_text(member), _STYLES[member.life]),
        str(member.process.running_pid or ""),
        member.address,
        condition.role,
        Cell(memory, "muted"),
        str(member.restarts) if member.restarts else "",
    ]


def state_text(member: ClusterProcess) -> str:
    if member.life is not Life.ENDED:
        return str(member.life.value)
    if member.ended_with < 0:
        return f"killed by signal {-member.ended_with}"
    return f"ended with {member.ended_with}"


def change_text(member: ClusterProcess) -> str:
    """What has just happened to a member."""
    where = f" on {member.address}, pid {member.process.running_pid}" if member.life is Life.READY else ""
    more = f", its log: {member.process.log_path}" if member.life in {Life.ENDED, Life.GIVEN_UP} else ""
    return f"{member.name}: {state_text(member)}{where}{more}"


def change_style(member: ClusterProcess) -> Style:
    return _STYLES[member.life]
