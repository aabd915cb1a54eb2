"""One process of a mirror between two clusters of a simulated world."""

import random

from acklog.mirror.mirror import Mirror, MirrorFencedError
from acklog.mirror.mirror_gap import MirrorGap
from acklog.mirror.mirror_settings import MirrorSettings
from acklog.mirror.topic_rules import TopicRules
from tests.support.mirror_world import FakeCluster, FakeEnd


def settings(**changes: object) -> MirrorSettings:
    values = {
        "name": "test",
        "copies_max": 4,
        "at_once": 3,
        "look_interval_ms": 50,
        "discovery_interval_ms": 500,
        "checkpoint_interval_ms": 300,
        "position_interval_ms": 200,
        "backoff_min_ms": 10,
        "backoff_max_ms": 200,
        **changes,
    }
    return MirrorSettings(**values)  # type: ignore[arg-type]


class MirrorLife:
    """One process of a mirror."""

    def __init__(
        self,
        source: FakeCluster,
        target: FakeCluster,
        chance: random.Random,
        number: int,
        *,
        prefix: str = "eu.",
        **changes: object,
    ) -> None:
        self.ends = FakeEnd(source), FakeEnd(target)
        self.gaps: list[MirrorGap] = []
        self.mirror = Mirror(
            *self.ends,
            TopicRules(["*"], prefix=prefix),
            settings(**changes),
            instance=f"life-{number}",
            now_ms=lambda: 0,
            chance=chance.random,
            on_gap=self.gaps.append,
        )

    async def run(self) -> str:
        try:
            await self.mirror.run()
        except MirrorFencedError:
            return "fenced"
        return "ended"

    def kill(self) -> None:
        for end in self.ends:
            end.is_dead = True
