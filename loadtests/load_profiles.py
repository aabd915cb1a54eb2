"""Who puts load on the server in `make load`: how many users of each class, and what the server must keep to while it
serves them. Nothing here needs locust, which changes the sockets of every process that imports it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TOPIC = "load-events"
GROUP = "load-workers"
LONG_POLL_S = 1
SECONDS_DEFAULT = 15
SECONDS_MAX = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """`users`: class of the locustfile to how many of it; with more users than that in all, in this proportion.
    `requests`: what these users ask for, each of which must have been answered at least once."""

    users: Mapping[str, int]
    requests: frozenset[str]

    @property
    def user_count(self) -> int:
        return sum(self.users.values())


SENDS, BATCHES = frozenset({"send one", "send one, keyed"}), frozenset({"send batch"})
WORK = frozenset({"receive", "ack", "nack", "extend"})
LOOKS = frozenset({"list topics", "describe topic", "list groups", "lag", "peek", "look at message"})

PROFILES = {
    "web": Profile(users={"WebBackend": 40}, requests=SENDS),
    "batch": Profile(users={"BatchProducer": 6}, requests=BATCHES),
    "workers": Profile(
        users={"BatchProducer": 1, "Worker": 12, "FlakyWorker": 4, "SlowWorker": 4}, requests=BATCHES | WORK
    ),
    "dashboards": Profile(users={"WebBackend": 4, "Dashboard": 10}, requests=SENDS | LOOKS),
    "mixed": Profile(
        users={"WebBackend": 16, "BatchProducer": 1, "Worker": 8, "FlakyWorker": 2, "SlowWorker": 3, "Dashboard": 3},
        requests=SENDS | BATCHES | WORK | LOOKS,
    ),
}


def profile_named(name: str | None) -> Profile:
    """Raises ValueError, which names the profiles that there are."""
    if name not in PROFILES:
        raise ValueError(f"there is no profile {name!r}; there are {', '.join(PROFILES)}")
    return PROFILES[name]


# Generous: they are to find a server that is broken or stalls, on any machine. How fast it is, `make bench` measures.
ERROR_RATIO_MAX = 0.01
P95_MAX_MS = {
    "send one": 500.0,
    "send one, keyed": 500.0,
    "send batch": 1500.0,
    "receive": LONG_POLL_S * 1000 + 1000.0,  # it may wait that long for a message
    "ack": 500.0,
    "nack": 500.0,
    "extend": 500.0,
    "list topics": 500.0,
    "describe topic": 500.0,
    "list groups": 500.0,
    "lag": 500.0,
    "peek": 1000.0,
    "look at message": 500.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStatistics:
    """What was counted of requests with one name. `p95_ms` is None when there were none."""

    name: str
    requests: int
    failures: int
    p95_ms: float | None


def violations(
    profile: Profile, statistics: Sequence[RequestStatistics], *, exceptions: int, p95_scale: float = 1.0
) -> list[str]:
    """What the run did not keep to, a sentence each; empty when all is well. `p95_scale` widens the latencies for a
    machine that is known to be slow; `exceptions` are those raised by the users' own code."""
    found = [f"{exceptions} exceptions in the users' own code"] if exceptions else []
    requests, failures = sum(each.requests for each in statistics), sum(each.failures for each in statistics)
    if failures > ERROR_RATIO_MAX * requests:
        found.append(f"{failures} of {requests} requests failed; at most {ERROR_RATIO_MAX:.0%} may")
    answered = {each.name for each in statistics if each.requests > each.failures}
    found += [f"nobody got an answer to {name!r}" for name in sorted(profile.requests - answered)]
    for each in statistics:
        if each.name not in P95_MAX_MS:
            found.append(f"{each.name!r} has no threshold; give it one in P95_MAX_MS")
        elif each.p95_ms is not None and each.p95_ms > P95_MAX_MS[each.name] * p95_scale:
            limit = P95_MAX_MS[each.name] * p95_scale
            found.append(f"the p95 of {each.name!r} is {each.p95_ms:.0f} ms; at most {limit:.0f} ms may it be")
    return found
