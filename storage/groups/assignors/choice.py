"""The assignors by the names that groups' settings give them."""

from collections.abc import Callable

from cluster.model.values import Assignor
from storage.groups.assignors.by_lag import assign_by_lag
from storage.groups.assignors.ranges import assign_ranges
from storage.groups.assignors.round_robin import assign_round_robin
from storage.groups.assignors.sticky import assign_sticky
from storage.groups.assignors.task import Assignment, AssignmentTask

ASSIGNORS: dict[Assignor, Callable[[AssignmentTask], Assignment]] = {
    Assignor.STICKY: assign_sticky,
    Assignor.RANGE: assign_ranges,
    Assignor.ROUND_ROBIN: assign_round_robin,
    Assignor.LAG: assign_by_lag,
}
