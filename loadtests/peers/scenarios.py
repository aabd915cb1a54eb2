"""What is measured of every broker: the rows of the table."""

from dataclasses import dataclass
from enum import Enum

# Beyond the seconds that are measured: for connections, and for what is stored before it is received.
STEP_LIMIT_S = 60.0


class Figure(Enum):
    RATE = "messages/s"
    P99 = "p99 ms"


@dataclass(frozen=True, slots=True)
class PeerScenario:
    """`what` is the load's scenario; `messages` counts for what is received, `rate` for what is paced."""

    title: str
    what: str
    figure: Figure
    connections: int
    batch: int = 1
    messages: int = 0
    rate: int = 0

    @property
    def settles(self) -> bool:
        return self.what in ("receive", "both")

    def options(self, seconds: float) -> list[str]:
        """What the load is called with."""
        options = ["-scenario", self.what, "-connections", str(self.connections), "-batch", str(self.batch)]
        options += ["-duration", f"{seconds:g}s", "-limit", f"{seconds + STEP_LIMIT_S:g}s"]
        if self.messages:
            options += ["-messages", str(self.messages)]
        if self.rate:
            options += ["-rate", str(self.rate)]
        return options


SCENARIOS = (
    PeerScenario("send, 64 connections", "send", Figure.RATE, 64),
    PeerScenario("send, 256 connections", "send", Figure.RATE, 256),
    PeerScenario("send in tens", "send", Figure.RATE, 16, batch=10),
    PeerScenario("send in hundreds", "send", Figure.RATE, 16, batch=100),
    PeerScenario("send in thousands", "send", Figure.RATE, 8, batch=1000),
    PeerScenario("receive and ack in tens", "receive", Figure.RATE, 16, batch=10, messages=20_000),
    PeerScenario("receive and ack in thousands", "receive", Figure.RATE, 8, batch=1000, messages=60_000),
    PeerScenario("send, 1,000/s", "paced", Figure.P99, 16, rate=1000),
    PeerScenario("send to ack, 500/s", "both", Figure.P99, 16, rate=500),
)
