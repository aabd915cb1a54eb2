"""The filters of simulated groups and calls, and what each of them means: said without the language of filters."""

import random
from collections.abc import Callable

from tests.sim.history import Sent

NO_FILTER = ""

TAGS = ("red", "green", "blue")
REGIONS = ("eu-1", "eu-2", "us-1")

WANTED: dict[str, Callable[[Sent], bool]] = {
    NO_FILTER: lambda sent: True,
    'tag = "red"': lambda sent: "red" in sent.tags,
    'tag in ("blue", "green")': lambda sent: "blue" in sent.tags or "green" in sent.tags,
    'not tag = "red"': lambda sent: "red" not in sent.tags,
    'header.region like "eu-%"': lambda sent: sent.headers.get("region", "").startswith("eu-"),
    'tag = "blue" and not header.region = "us-1"': (
        lambda sent: "blue" in sent.tags and sent.headers.get("region") != "us-1"
    ),
    'key = "key-0" or exists(header.region)': lambda sent: sent.key == "key-0" or "region" in sent.headers,
}
"""By the text that a client sends."""

FILTERS = tuple(text for text in WANTED if text)


def wants(text: str, sent: Sent) -> bool:
    """Whether a message matches."""
    return WANTED[text](sent)


def draw_marks(rng: random.Random) -> tuple[list[str], dict[str, str]]:
    """The tags and headers of a message: often several tags, or none."""
    tags = [tag for tag in TAGS if rng.random() < 0.4]
    return tags, {"region": rng.choice(REGIONS)} if rng.random() < 0.6 else {}
