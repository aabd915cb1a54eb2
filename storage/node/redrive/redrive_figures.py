"""What a node's redrive jobs have done since its start."""

from dataclasses import dataclass


@dataclass(slots=True)
class RedriveFigures:
    """Letters."""

    moved: int = 0
    failed: int = 0
