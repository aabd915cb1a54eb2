"""What the partitions' leaders of a node count, all together."""

from dataclasses import dataclass, field

from storage.node.groups.given_up_figures import GivenUpFigures
from storage.node.partition.filter_figures import FilterFigures
from storage.node.schedule.schedule_figures import ScheduleFigures


@dataclass(frozen=True, slots=True)
class LeaderFigures:
    """Since the node's start: none of them falls when a partition gets another leader."""

    filters: FilterFigures = field(default_factory=FilterFigures)
    given_up: GivenUpFigures = field(default_factory=GivenUpFigures)
    schedules: ScheduleFigures = field(default_factory=ScheduleFigures)
