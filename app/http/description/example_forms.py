"""What the examples of a call are: by parameter, by body and by answer."""

from dataclasses import dataclass, field
from typing import Any

from app.http.description.media_types import JSON

Named = dict[str, Any]
"""By what it is an example of."""


@dataclass(frozen=True, slots=True)
class Examples:
    """`parameters` are filled in by the try-out; `bodies` and `answers` are by media type."""

    parameters: dict[str, Any] = field(default_factory=dict)
    bodies: dict[str, Named] = field(default_factory=dict)
    answers: dict[int, dict[str, Named]] = field(default_factory=dict)


def in_json(**named: Any) -> dict[str, Named]:
    """In JSON, by names whose underscores stand for spaces."""
    return {JSON: {name.replace("_", " "): value for name, value in named.items()}}
