"""Under which name a history knows a topic: its own, or, where topics of one name follow each other, with its id."""

PASSING = "passing"
"""The topic that is deleted and created again; its id tells the one from the next."""
LETTERS = "letters"
RETURNED = "returned"
"""Dead letters, and where jobs send them: who sends and begins these reads them, and nobody else does."""
TRIMMED = "trimmed"
"""What is deleted from: who does that, and reads it, judges it."""
TICKS = "ticks"
"""To which recurring schedules send."""
EXPIRING = "expiring"
"""Whose messages live for some time only; what its dead letters are called begins with it."""

MOVING = "moving"
"""Where delayed messages wait while it grows; who sends and receives there judges it."""

LIMITED = "limited"
"""The topic that has a quota."""
NAMED = "named"
"""Where processes take a producer's name from each other, and read and judge what came of it."""

COMMITTED = "committed-"
"""What the names of topics begin with whose readers commit their positions."""
VIEW = "view"
"""The topic whose keys' values are asked for."""
TABLE = "table"
"""The topic that keeps the last message of each key."""


def queue_label(name: str, topic_id: str) -> str:
    return f"{name} {topic_id}" if name == PASSING else name


def is_passing(label: str) -> bool:
    """Of one of them, or not known of which; or of their dead letters."""
    return label.startswith(PASSING)
