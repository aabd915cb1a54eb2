"""What a doctor looks at in a server, through its API. Nothing is changed and nothing is stored."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from acklog.command.audit_check import audit_check
from acklog.command.checkup import Check, fail, ok, skipped, warn
from acklog.command.cluster_checks import cluster_checks
from acklog.command.compaction_checks import compaction_checks
from acklog.command.encryption_checks import encryption_checks
from acklog.command.failures import explain
from acklog.command.group_checks import GROUPS_LOOKED_AT_MAX, GroupChecks
from acklog.command.issuer_check import issuer_checks
from acklog.command.letter_checks import letter_checks
from acklog.command.namesake_check import namesake_checks
from acklog.command.quantities import count_text, size_text
from acklog.command.questions import not_looked_at
from acklog.command.quota_check import quota_check
from acklog.command.redrive_checks import redrive_checks
from acklog.command.schedule_checks import schedules_check
from acklog.command.server_metrics import ServerMetrics
from acklog.command.times import duration_text
from acklog.command.topic_checks import TopicChecks
from acklog.wire.limits import PARTITIONS_MAX

if TYPE_CHECKING:
    from acklog import AcklogError, Client
    from acklog.catalog import Topic

CLOCK_DIFFERENCE_WARN_MS = 2_000
CLOCK_DIFFERENCE_FAIL_MS = 60_000
ROUND_TRIP_WARN_MS = 500
USED_WARN, USED_FAIL = 0.7, 0.95
DISK_FREE_WARN_BYTES = 1 << 30
MORE_REPLICAS_THAN_THERE_CAN_BE = 100
_NOBODY = "acklog-doctor-asks"

_REFUSALS = {
    "OVERLOADED": "Senders were told to slow down: a faster disk, larger batches, or fewer senders.",
    "DEDUP_WINDOW_FULL": "Shorten the window: acklog topics update TOPIC --dedup-window 1m.",
    "DEDUP_WINDOW_DAMAGED": "Stored keys rotted: wait for the window's end, or see the server's log (acklog fsck).",
    "STORAGE_FULL": "Free some space, or shorten retention: acklog topics update TOPIC --retention 1d.",
    "STORAGE_FAILED": "See the server's log: its disk failed.",
    "INTERNAL": "See the server's log, and report it.",
}


class ServerChecks:
    """`now_ms` is this machine's clock, `pause` waits so many seconds, `is_over`: there is no time left."""

    def __init__(
        self,
        client: "Client",
        *,
        url: str,
        has_token: bool,
        own_version: str,
        now_ms: Callable[[], int],
        pause: Callable[[float], None],
        is_over: Callable[[], bool],
    ) -> None:
        self._client = client
        self._url = url
        self._has_token = has_token
        self._own_version = own_version
        self._now_ms = now_ms
        self._pause = pause
        self._is_over = is_over
        self._topics: list[Topic] = []
        self._served: list[Topic] = []
        self._read_metrics: ServerMetrics | None = None

    def run(self) -> Iterator[Check]:
        """One check after the other; those that need what failed are left out."""
        from acklog.errors import AcklogError

        reachable = self._reachable()
        yield reachable
        if reachable.outcome.value == "fail":
            yield skipped("server", "nothing else can be looked at")
            return
        yield self._ready()
        try:
            self._topics = self._client.topics.list()
        except AcklogError as error:
            yield self._no_topics(error)
            return
        yield self._scopes()
        for name, check in self._checks():
            if self._is_over():
                yield not_looked_at(name, "any")
                continue
            try:
                yield from check()
            except AcklogError as error:
                yield fail(name, f"could not be looked at: {_said(error)}", "")

    def _checks(self) -> list[tuple[str, Callable[[], Iterator[Check]]]]:
        return [
            ("nodes", self._nodes),
            ("metrics", self._metrics),
            ("topics", self._look_at_topics),
            ("groups", self._look_at_groups),
            ("dead letters", self._dead_letters),
            ("redrives", self._redrives),
            ("schedules", self._schedules),
            ("compaction", self._compaction),
            ("encryption", self._encryption),
        ]

    # --- can it be talked to -----------------------------------------------------------------------------------------

    def _reachable(self) -> Check:
        from acklog.errors import AcklogError

        try:
            self._client.health()  # makes the connection
            started_ms = self._now_ms()
            self._client.health()
            round_trip_ms = self._now_ms() - started_ms
        except AcklogError as error:
            failure = explain(error, server=self._url)
            return fail("reachable", _said(error), "" if failure is None else failure.hint)
        finding = f"{self._url} answers in {round_trip_ms} ms"
        if round_trip_ms > ROUND_TRIP_WARN_MS:
            return warn("reachable", finding, "Look at the network between here and there, and at the server's load.")
        return ok("reachable", finding)

    def _ready(self) -> Check:
        from acklog.errors import AcklogError

        try:
            self._client.ready()
        except AcklogError as error:
            advice = "See the server's log. A directory whose files are damaged is looked at by: acklog fsck DIRECTORY."
            return fail("ready", _said(error), advice)
        return ok("ready", "it serves")

    def _no_topics(self, error: "AcklogError") -> Check:
        failure = explain(error, server=self._url)
        name = "topics" if error.retriable else "token"
        return fail(name, _said(error), "" if failure is None else failure.hint)

    def _scopes(self) -> Check:
        """What the token may do, found by asking for what cannot be done anyway."""
        found = {"read": True, "write": self._may_write(), "admin": self._may_administer()}
        may = [scope for scope, is_allowed in found.items() if is_allowed]
        may_not = [scope for scope, is_allowed in found.items() if is_allowed is False]
        whose = "the token" if self._has_token else "anybody"
        finding = f"{whose} may {', '.join(may)}"
        if may_not:
            finding += f"; not {', '.join(may_not)}"
        unknown = [scope for scope, is_allowed in found.items() if is_allowed is None]
        if unknown:
            finding += f"; {', '.join(unknown)} not tried, as there is no topic"
        if not self._has_token and not may_not and not self._is_local():
            advice = "Everybody who reaches the server may do everything: start it with --tokens-file."
            return warn("token", finding, advice)
        return ok("token", finding)

    def _may_write(self) -> bool | None:
        """A send with two faults, each of which refuses it: a partition that there is not, and too many replicas."""
        from acklog.errors import AcklogError, Forbidden

        topic = next((each for each in self._topics if each.partitions < PARTITIONS_MAX), None)
        if topic is None:
            return None
        try:
            self._client.send(topic.name, None, partition=PARTITIONS_MAX - 1, acks=MORE_REPLICAS_THAN_THERE_CAN_BE)
        except Forbidden:
            return False
        except AcklogError as error:
            return True if error.status == 400 or error.status == 404 else None
        return None

    def _may_administer(self) -> bool | None:
        """A dry run for a group that there is not."""
        from acklog.errors import AcklogError, Forbidden

        try:
            self._client.groups.seek(_NOBODY, _NOBODY, to_latest=True, dry_run=True)
        except Forbidden:
            return False
        except AcklogError as error:
            return True if error.status == 404 else None
        return True

    def _is_local(self) -> bool:
        from urllib.parse import urlsplit

        return urlsplit(self._url).hostname in {"127.0.0.1", "localhost", "::1"}

    # --- what it says of itself --------------------------------------------------------------------------------------

    def _metrics(self) -> Iterator[Check]:
        started_ms = self._now_ms()
        metrics = self._read_metrics = ServerMetrics(self._client.metrics())
        ended_ms = self._now_ms()
        yield self._version(metrics)
        yield _clock(metrics, started_ms=started_ms, ended_ms=ended_ms)
        yield _disk(metrics)
        yield _limits(metrics)
        yield _refusals(metrics)
        yield quota_check(metrics)
        yield from issuer_checks(metrics)
        yield from namesake_checks(metrics)
        yield audit_check(metrics)
        cut_bytes = metrics.value("acklog_recovery_cut_bytes") or 0
        if cut_bytes:
            yield ok("last start", f"it cut {size_text(int(cut_bytes))} that no append had completed")

    def _version(self, metrics: ServerMetrics) -> Check:
        versions = list(metrics.by_label("acklog_server_info", "version"))
        if not versions:
            return skipped("version", f"this is {self._own_version}; the server does not say what it is")
        if versions[0].split(".")[:2] != self._own_version.split(".")[:2]:
            finding = f"the server is {versions[0]}, this command {self._own_version}"
            return warn("version", finding, "Install the same version on both sides.")
        return ok("version", f"{versions[0]} on both sides" if versions[0] == self._own_version else versions[0])

    def _nodes(self) -> Iterator[Check]:
        yield from cluster_checks(self._client.cluster.status())

    # --- topics and groups -------------------------------------------------------------------------------------------

    def _look_at_topics(self) -> Iterator[Check]:
        checks = TopicChecks(self._client, self._topics, is_over=self._is_over)
        yield from checks.run()
        self._served = checks.served

    def _look_at_groups(self) -> Iterator[Check]:
        checks = GroupChecks(self._client, now_ms=self._now_ms, pause=self._pause, is_over=self._is_over)
        yield from checks.run()

    def _dead_letters(self) -> Iterator[Check]:
        yield from letter_checks(self._client, now_ms=self._now_ms)

    def _redrives(self) -> Iterator[Check]:
        groups = [group.name for group in self._client.groups.list()]
        yield from redrive_checks(self._client, groups[:GROUPS_LOOKED_AT_MAX], pause=self._pause)

    def _schedules(self) -> Iterator[Check]:
        yield schedules_check(
            self._client, [topic.name for topic in self._served], self._read_metrics, now_ms=self._now_ms()
        )

    def _compaction(self) -> Iterator[Check]:
        yield from compaction_checks(self._client, self._served, self._read_metrics)

    def _encryption(self) -> Iterator[Check]:
        yield from encryption_checks(self._client, self._served, self._read_metrics)


def _clock(metrics: ServerMetrics, *, started_ms: int, ended_ms: int) -> Check:
    """The server's clock was read somewhere between the two moments."""
    server_s = metrics.value("acklog_clock_seconds")
    if server_s is None:
        return skipped("clock", "the server does not say what time it has")
    server_ms = server_s * 1000
    difference_ms = round(max(started_ms - server_ms, server_ms - ended_ms, 0))
    advice = "Set both clocks by NTP: timestamps, and seeks to a time, go by them."
    finding = f"the clocks differ by {duration_text(difference_ms)}"
    if difference_ms > CLOCK_DIFFERENCE_FAIL_MS:
        return fail("clock", finding, advice)
    if difference_ms > CLOCK_DIFFERENCE_WARN_MS:
        return warn("clock", finding, advice)
    return ok("clock", finding if difference_ms > 100 else "the clocks agree")


def _disk(metrics: ServerMetrics) -> Check:
    if metrics.value("acklog_storage_failed"):
        advice = "Look at the disk, then start the server anew; acklog fsck DIRECTORY checks the files before that."
        return fail("disk", "the disk failed, and the server stopped serving the directory", advice)
    refused = metrics.value("acklog_partitions_refused") or 0
    if refused:
        finding = f"{count_text(int(refused), 'partition')} refused for damaged files"
        return fail("disk", finding, "Stop the server and run acklog fsck DIRECTORY.")
    free_bytes = metrics.value("acklog_disk_free_bytes")
    if free_bytes is None:
        return skipped("disk", "the server does not say how much room it has")
    reserve_bytes = metrics.value("acklog_disk_reserve_bytes") or 0
    finding = f"{size_text(int(free_bytes))} free"
    advice = "Free some space, or shorten retention: acklog topics update TOPIC --retention 1d."
    if free_bytes < reserve_bytes:
        return fail("disk", f"{finding}: sends are refused below {size_text(int(reserve_bytes))}", advice)
    if free_bytes < max(DISK_FREE_WARN_BYTES, 4 * reserve_bytes):
        return warn("disk", finding, advice)
    return ok("disk", finding)


def _limits(metrics: ServerMetrics) -> Check:
    used = metrics.by_label("acklog_limit_used_ratio", "limit")
    if not used:
        return skipped("limits", "the server does not say how much of its limits is used")
    near = {name: share for name, share in used.items() if share >= USED_WARN}
    if not near:
        name, share = max(used.items(), key=lambda item: item[1])
        return ok("limits", f"the fullest is {name}, {share:.0%} used")
    finding = ", ".join(f"{name} {share:.0%} used" for name, share in sorted(near.items()))
    variables = ", ".join(f"ACKLOG_NODE_{name.upper()}" for name in sorted(near))
    advice = f"Beyond a limit requests are refused. Find out what fills it, or raise it: {variables}."
    return (fail if max(near.values()) >= USED_FAIL else warn)("limits", finding, advice)


def _refusals(metrics: ServerMetrics) -> Check:
    by_code = metrics.by_label("acklog_messages_refused_total", "code")
    found = {code: count for code, count in by_code.items() if code in _REFUSALS and count}
    if not found:
        return ok("refusals", "no message was refused for want of room since the start")
    worst = max(found, key=lambda code: found[code])
    finding = ", ".join(f"{code} {int(count):,}" for code, count in sorted(found.items()))
    return warn("refusals", f"messages refused since the start: {finding}", _REFUSALS[worst])


def _said(error: "AcklogError") -> str:
    failure = explain(error)
    return str(error) if failure is None else failure.what
