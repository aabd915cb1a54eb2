"""What a node's table views can be told."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableSettings:
    """Sizes are in bytes, times in milliseconds."""

    step_bytes: int = 4 * 1024 * 1024
    """How much of a log is read at a time to bring an index of its keys up to its end: of each key in it one place is
    written."""

    catch_up_ms: int = 5_000
    """How long a question waits for that; beyond it it gets UNAVAILABLE, and the index goes on."""

    open_max: int = 64
    """Indexes that are open at a time; the one asked longest ago is closed."""

    def __post_init__(self) -> None:
        if min(self.step_bytes, self.catch_up_ms, self.open_max) < 1:
            raise ValueError("sizes, times and numbers of table views must be positive")
