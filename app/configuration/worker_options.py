"""Over how many processes a server on one machine is spread."""

from dataclasses import dataclass

from app.configuration.setting_fields import check_fields, number

WORKERS_MAX = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    workers: int = number(
        1, 0, WORKERS_MAX, "gateway processes around one storage process; 0 or 1: everything in one process"
    )

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def are_several(self) -> bool:
        return self.workers > 1


WORKER_GROUPS = {"How many processes it is": ("workers",)}
