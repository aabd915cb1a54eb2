"""What members of exclusive groups ask."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member reads, and how it lives. `patterns` are shell patterns of topics' names; `session_timeout_ms` 0:
    the group's. `instance_id` tells two processes of one static name apart."""

    topic_ids: tuple[str, ...]
    patterns: tuple[str, ...] = ()
    rack: str = ""
    session_timeout_ms: int = 0
    is_static: bool = False
    instance_id: str = ""
