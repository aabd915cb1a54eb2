"""What a node's leaders count of their partitions' schedules."""

from dataclasses import dataclass


@dataclass(slots=True)
class ScheduleFigures:
    """Since the node's start. `late_ms` adds up how much later than due messages were committed, `late_ms_max` is the
    most. `recurred` counts messages of recurring schedules, `passed_over` their times that got none, `handed_over`
    messages that went to another partition's schedule."""

    delivered: int = 0
    late_ms: int = 0
    late_ms_max: int = 0
    recurred: int = 0
    passed_over: int = 0
    handed_over: int = 0
