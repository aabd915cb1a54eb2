"""What a controller waits for, and how long."""

from dataclasses import dataclass, field

from cluster.backoff import Backoff
from cluster.controller.planner_settings import PlannerSettings
from cluster.life.election import ElectionSettings

_MINUTE_MS = 60 * 1000


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    planner: PlannerSettings = field(default_factory=PlannerSettings)

    election: ElectionSettings = field(default_factory=ElectionSettings)

    backoff: Backoff = field(default_factory=Backoff)
    """Between tries to reach the store."""

    debounce_ms: int = 0
    """How long news is gathered before it is acted on. Elections wait for it."""

    own_writes_timeout_ms: int = 1_000
    """How long the controller waits to see what it wrote itself before it decides anew."""

    tombstone_retention_ms: int = 30 * 24 * 60 * _MINUTE_MS
    """How long it is remembered that an id was deleted: data that turns up later is kept, and reported."""

    forgetting_interval_ms: int = 60 * _MINUTE_MS
    """How often old tombstones are looked for; the first time that long after the start."""
