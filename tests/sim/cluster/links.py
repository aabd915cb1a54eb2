"""Who can reach whom: one link for each direction between two hosts, the coordination store being a host as well."""

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

COORDINATION = "etcd"


@dataclass(frozen=True, slots=True)
class LinkSpeed:
    """A message takes `min_ms` and, beyond it, `mean_ms` on average."""

    min_ms: float = 0.1
    mean_ms: float = 0.5


class Link:
    """One direction. A blocked link delivers nothing; what is on its way arrives when it is open again, as with TCP.

    `extra_ms` is what a clog adds to each message's way.
    """

    def __init__(self, source: str, target: str) -> None:
        self.source = source
        self.target = target
        self.is_blocked = False
        self.extra_ms = 0.0
        self._waiting: list[Callable[[], None]] = []

    def on_open(self, then: Callable[[], None]) -> None:
        """Call `then` once, when the link is open again."""
        self._waiting.append(then)

    async def opened(self) -> None:
        while self.is_blocked:
            news: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.on_open(lambda news=news: news.done() or news.set_result(None))  # type: ignore[misc]
            await news

    def block(self) -> None:
        self.is_blocked = True

    def open(self) -> None:
        self.is_blocked = False
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            then()


class Links:
    """All links among the hosts that were ever named."""

    def __init__(self, rng: random.Random, speed: LinkSpeed) -> None:
        self.speed = speed
        self._random = rng
        self._links: dict[tuple[str, str], Link] = {}

    def link(self, source: str, target: str) -> Link:
        found = self._links.get((source, target))
        if found is None:
            found = self._links[source, target] = Link(source, target)
        return found

    def between(self, one: Iterable[str], others: Iterable[str]) -> Iterator[Link]:
        """The links from each of `one` to each of `others`."""
        targets = list(others)
        return (self.link(source, target) for source in one for target in targets if source != target)

    def delay_s(self, link: Link) -> float:
        """How long the next message takes."""
        speed = self.speed
        more_ms = self._random.expovariate(1 / speed.mean_ms) if speed.mean_ms > 0 else 0.0
        return (speed.min_ms + more_ms + link.extra_ms) / 1000

    def heal(self) -> None:
        """Every link is open, and fast."""
        for link in list(self._links.values()):
            link.extra_ms = 0.0
            link.open()
