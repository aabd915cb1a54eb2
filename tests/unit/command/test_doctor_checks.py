"""The doctor's judgements, on figures that a test makes up."""

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from acklog.catalog import (
    Group,
    GroupOffsets,
    GroupSettings,
    PartitionProgress,
    PartitionState,
    Topic,
    TopicConfig,
    TopicDescription,
)
from acklog.cluster import ClusterNode, ClusterStatus
from acklog.command import machine_checks
from acklog.command.checkup import Check, CheckOutcome
from acklog.command.group_checks import GROUPS_LOOKED_AT_MAX
from acklog.command.machine_checks import (
    data_directory_checks,
    file_system_check,
    file_system_type,
    sync_check,
    sync_durations_ms,
)
from acklog.command.server_checks import ServerChecks
from acklog.command.server_metrics import ServerMetrics
from acklog.encryption import EncryptionState
from acklog.errors import (
    ConnectionFailed,
    Forbidden,
    GroupNotFound,
    NodesTooOld,
    RedriveNotFound,
    StorageFailed,
    TopicNotFound,
    Unauthenticated,
)
from acklog.positions import ProblemItem
from acklog.redrives import RedriveJob, RedrivePart
from acklog.scheduled import ScheduledMessage
from acklog.tables import CompactionState, PartitionCompaction, ReplicaCompaction
from acklog.wire.limits import PARTITIONS_MAX

HEALTHY = """\
# HELP acklog_server_info 1, with the server's version
# TYPE acklog_server_info gauge
acklog_server_info{version="1.2.3"} 1.0
acklog_clock_seconds 1000.5
acklog_storage_failed 0.0
acklog_partitions_refused 0.0
acklog_disk_free_bytes 5.0e+10
acklog_disk_reserve_bytes 6.7e+07
acklog_limit_used_ratio{limit="pending_bytes_max"} 0.25
acklog_limit_used_ratio{limit="journal_files_max"} 0.5
acklog_audit_records_lost_total 0.0
acklog_audit_waiting_bytes 0.0
"""


def cluster_status(*protocols: int, needed_protocol: int = 0) -> ClusterStatus:
    """A node of each of these protocols; one more is away."""
    nodes = [
        ClusterNode(number, "", "", number <= len(protocols), False, False, 0, 0, protocol)
        for number, protocol in enumerate([*protocols, 0], 1)
    ]
    return ClusterStatus(False, 1, True, True, nodes, 0, 0, 0, 0, 0, 0, 0, [], [], True, needed_protocol)


_NOTHING: dict[str, Any] = {"scheduled": {}, "jobs": [[]], "compaction": {}}


class FakeServer:
    """A client whose answers are set; an exception in the place of one is raised."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {
            "health": {},
            "ready": {},
            "metrics": HEALTHY,
            "topics": [],
            "groups": [],
            **_NOTHING,
            **answers,
        }
        self.answers.setdefault("seek", Forbidden("no"))
        self.topics = self.groups = self.cluster = self
        self.encryption = _Encryption(self)
        self.scheduled, self.redrives, self.tables = _Scheduled(self), _Redrives(self), _Tables(self)
        self.offsets_asked = 0
        self.pauses_s: list[float] = []

    def _answer(self, name: str) -> Any:
        answer = self.answers[name]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def health(self) -> Any:
        return self._answer("health")

    def ready(self) -> Any:
        return self._answer("ready")

    def metrics(self) -> Any:
        return self._answer("metrics")

    def status(self) -> Any:
        return self.answers.get("status") or cluster_status()


class _Encryption:
    """`encryption` of the answers: topic to its keys."""

    def __init__(self, server: FakeServer) -> None:
        self._server = server

    def status(self, topic: str) -> EncryptionState:
        states: dict[str, EncryptionState] = self._server.answers.get("encryption", {})
        if topic not in states:
            raise TopicNotFound("there is none")
        return states[topic]


class _Scheduled:
    """`scheduled` of the answers: topic to when each message is due."""

    def __init__(self, server: FakeServer) -> None:
        self._server = server

    def list(self, topic: str, *, before: int, limit: int) -> list[ScheduledMessage]:
        due_ms: dict[str, list[int]] = self._server._answer("scheduled")
        found = sorted(each for each in due_ms.get(topic, []) if each < before)[:limit]
        return [
            ScheduledMessage(schedule_id="s", topic=topic, partition=0, state="scheduled", deliver_at_ms=each)
            for each in found
        ]


class _Redrives:
    """`jobs` of the answers: looks at all jobs, one after the other; the last one stays."""

    def __init__(self, server: FakeServer) -> None:
        self._server = server

    def list(self, group: str) -> list[RedriveJob]:
        looks: list[list[RedriveJob]] = self._server._answer("jobs")
        return [job for job in looks[0] if job.group == group]

    def get(self, _group: str, job_id: str) -> RedriveJob:
        looks: list[list[RedriveJob]] = self._server.answers["jobs"]
        look = looks[min(len(self._server.pauses_s), len(looks) - 1)]
        found = next((job for job in look if job.job_id == job_id), None)
        if found is None:
            raise RedriveNotFound("there is none")
        return found


class _Tables:
    """`compaction` of the answers: topic to its state."""

    def __init__(self, server: FakeServer) -> None:
        self._server = server

    def compaction(self, topic: str) -> CompactionState:
        states: dict[str, CompactionState] = self._server._answer("compaction")
        return states[topic]


class _Topics:
    def __init__(self, server: FakeServer) -> None:
        self._server = server

    def list(self) -> list[Topic]:
        topics: list[Topic] = self._server._answer("topics")
        return topics

    def get(self, name: str) -> TopicDescription:
        if "topic" in self._server.answers:
            answer: TopicDescription = self._server.answers["topic"](name)
            return answer
        found: TopicDescription = next(topic for topic in self._server.answers["topics"] if topic.name == name)
        return found


class _Groups:
    def __init__(self, server: FakeServer) -> None:
        self._server = server

    def list(self) -> list[Group]:
        groups: list[Group] = self._server._answer("groups")
        return groups

    def offsets(self, group: str) -> GroupOffsets:
        self._server.offsets_asked += 1
        rows: list[PartitionProgress] = self._server.answers["offsets"][self._server.offsets_asked - 1]
        return GroupOffsets(group, rows, 0)

    def seek(self, *_arguments: Any, **_options: Any) -> None:
        self._server._answer("seek")


def diagnose(
    server: FakeServer,
    *,
    has_token: bool = True,
    url: str = "http://127.0.0.1:1",
    is_over: Callable[[], bool] = lambda: False,
) -> dict[str, Check]:
    server.topics, server.groups = _Topics(server), _Groups(server)  # type: ignore[assignment]
    times: Iterator[int] = chain([1_000_000, 1_000_004, 1_000_490, 1_000_510], repeat(1_000_510))
    checks = ServerChecks(
        server,  # type: ignore[arg-type]
        url=url,
        has_token=has_token,
        own_version="1.2.9",
        now_ms=lambda: next(times),
        pause=server.pauses_s.append,
        is_over=is_over,
    )
    return {check.name: check for check in checks.run()}


class TestServer:
    def test_all_is_well(self) -> None:
        found = diagnose(FakeServer())
        assert {check.outcome for check in found.values()} == {CheckOutcome.OK}
        assert found["reachable"].finding == "http://127.0.0.1:1 answers in 4 ms"
        assert found["clock"].finding == "the clocks agree"
        assert found["version"].finding == "1.2.3"
        assert found["limits"].finding == "the fullest is journal_files_max, 50% used"

    @pytest.mark.parametrize(
        ("age_s", "left_s", "outcome"),
        [(100, 21_500, CheckOutcome.OK), (11_000, 10_600, CheckOutcome.WARN), (30_000, 0, CheckOutcome.FAIL)],
    )
    def test_the_keys_of_an_issuer(self, age_s: int, left_s: int, outcome: CheckOutcome) -> None:
        figures = f"acklog_jwt_keys_age_seconds {age_s}.0\nacklog_jwt_keys_left_seconds {left_s}.0\n"
        assert diagnose(FakeServer(metrics=HEALTHY + figures))["issuer"].outcome is outcome
        assert "issuer" not in diagnose(FakeServer(metrics=HEALTHY)), "where there is none nothing is said"

    def test_tokens_that_share_a_name(self) -> None:
        found = diagnose(FakeServer(metrics=HEALTHY + "acklog_token_names_shared 2.0\n"))["token names"]
        assert (found.outcome, found.finding[:25]) == (CheckOutcome.WARN, "2 names of stored tokens ")
        for figures in ("", "acklog_token_names_shared 0.0\n"):
            assert "token names" not in diagnose(FakeServer(metrics=HEALTHY + figures)), "it is nothing to speak of"

    def test_quotas_that_refuse_are_named(self) -> None:
        quiet = 'acklog_quota_used_total{quota="group/mail/receiveMessagesPerSecond"} 9.0\n'
        assert diagnose(FakeServer(metrics=HEALTHY + quiet))["quotas"].finding == (
            "1 in use, none refused anything since the start"
        )
        figures = (
            'acklog_quota_refused_total{quota="group/mail/receiveMessagesPerSecond"} 3.0\n'
            'acklog_quota_refused_total{quota="topic/orders/sendMessagesPerSecond"} 1200.0\n'
        )
        found = diagnose(FakeServer(metrics=HEALTHY + quiet + figures))["quotas"]
        assert found.outcome is CheckOutcome.WARN
        assert found.finding == (
            "requests refused since the start by topic/orders/sendMessagesPerSecond (1,200), "
            "group/mail/receiveMessagesPerSecond (3)"
        )
        assert "acklog topics update orders" in found.advice

    @pytest.mark.parametrize(
        ("lost", "waiting", "outcome", "finding"),
        [
            ("0.0", "0.0", CheckOutcome.OK, "7 records stored since the start, none lost"),
            ("0.0", "2048.0", CheckOutcome.WARN, "2,048 bytes of records wait to be stored"),
            ("3.0", "0.0", CheckOutcome.WARN, "3 records were lost since the start: nobody could store them"),
        ],
    )
    def test_the_audit_log(self, lost: str, waiting: str, outcome: CheckOutcome, finding: str) -> None:
        metrics = HEALTHY.replace("lost_total 0.0", f"lost_total {lost}").replace("bytes 0.0", f"bytes {waiting}")
        stored = 'acklog_audit_records_total{result="allowed"} 7.0\n'
        found = diagnose(FakeServer(metrics=metrics + stored))["audit log"]
        assert (found.outcome, found.finding) == (outcome, finding)

    @pytest.mark.parametrize("quota", ["group/mail/receiveRequestsPerSecond", "token/shop/requestsPerSecond"])
    def test_what_to_do_about_a_quota_goes_by_whose_it_is(self, quota: str) -> None:
        found = diagnose(FakeServer(metrics=f'{HEALTHY}acklog_quota_refused_total{{quota="{quota}"}} 1.0\n'))["quotas"]
        assert ("acklog groups update mail" in found.advice) == quota.startswith("group")
        assert ("tokens file" in found.advice) == quota.startswith("token")

    def test_nobody_there(self) -> None:
        found = diagnose(FakeServer(health=ConnectionFailed("refused")))
        assert (found["reachable"].outcome, list(found)) == (CheckOutcome.FAIL, ["reachable", "server"])

    def test_not_ready(self) -> None:
        found = diagnose(FakeServer(ready=StorageFailed("fsync: EIO")))
        assert found["ready"].outcome is CheckOutcome.FAIL
        assert "fsync: EIO" in found["ready"].finding

    def test_a_wrong_token(self) -> None:
        found = diagnose(FakeServer(topics=Unauthenticated("who are you?")))
        assert found["token"].outcome is CheckOutcome.FAIL
        assert "--token" in found["token"].advice

    def test_metrics_that_cannot_be_read_do_not_end_it(self) -> None:
        found = diagnose(FakeServer(metrics=Forbidden("no")))
        assert found["metrics"].outcome is CheckOutcome.FAIL
        assert found["dead letters"].outcome is CheckOutcome.OK

    @pytest.mark.parametrize(
        ("line", "check", "outcome", "said"),
        [
            ('acklog_server_info{version="2.0.0"} 1', "version", CheckOutcome.WARN, "the server is 2.0.0"),
            ("acklog_clock_seconds 997.0", "clock", CheckOutcome.WARN, "differ by 3 s"),
            ("acklog_clock_seconds 2000.0", "clock", CheckOutcome.FAIL, "differ by 16 min"),
            ("acklog_storage_failed 1", "disk", CheckOutcome.FAIL, "the disk failed"),
            ("acklog_partitions_refused 2", "disk", CheckOutcome.FAIL, "2 partitions refused"),
            ("acklog_disk_free_bytes 5e8", "disk", CheckOutcome.WARN, "476.8 MiB free"),
            ("acklog_disk_free_bytes 5e7", "disk", CheckOutcome.FAIL, "sends are refused"),
            ('acklog_limit_used_ratio{limit="pending_bytes_max"} 0.8', "limits", CheckOutcome.WARN, "80% used"),
            ('acklog_limit_used_ratio{limit="pending_bytes_max"} 0.99', "limits", CheckOutcome.FAIL, "99% used"),
            ('acklog_messages_refused_total{code="OVERLOADED"} 7', "refusals", CheckOutcome.WARN, "OVERLOADED 7"),
            ('acklog_messages_refused_total{code="INVALID_FIELD"} 7', "refusals", CheckOutcome.OK, "no message"),
            ("acklog_recovery_cut_bytes 2048", "last start", CheckOutcome.OK, "it cut 2 KiB"),
        ],
    )
    def test_what_the_metrics_say(self, line: str, check: str, outcome: CheckOutcome, said: str) -> None:
        name = line.rpartition(" ")[0]
        others = [each for each in HEALTHY.splitlines() if each.rpartition(" ")[0] != name]
        found = diagnose(FakeServer(metrics="\n".join([line, *others])))
        assert found[check].outcome is outcome
        assert said in found[check].finding

    def test_an_older_server_says_less(self) -> None:
        found = diagnose(FakeServer(metrics="acklog_storage_failed 0\n"))
        assert {found[name].outcome for name in ("version", "clock", "disk", "limits")} == {CheckOutcome.SKIPPED}

    def test_an_open_server_on_a_network(self) -> None:
        answers = {"seek": GroupNotFound("there is none")}
        far = diagnose(FakeServer(**answers), has_token=False, url="http://queue.example.org")
        assert far["token"].outcome is CheckOutcome.WARN
        assert "--tokens-file" in far["token"].advice
        assert diagnose(FakeServer(**answers), has_token=False)["token"].outcome is CheckOutcome.OK
        assert diagnose(FakeServer(**answers), url="http://queue.example.org")["token"].outcome is CheckOutcome.OK

    def test_a_group_that_makes_progress_is_not_idle(self) -> None:
        def row(done: int) -> list[PartitionProgress]:
            counts = {"in_flight": 0, "delayed": 0, "dead_lettered": 0, "done_above": 0}
            return [PartitionProgress("orders", 0, progress=done, lag=50, lost=0, **counts)]

        groups = [group_of("mail")]
        busy = diagnose(FakeServer(groups=groups, offsets=[row(10), row(20)]))
        assert busy["groups"].outcome is CheckOutcome.OK
        idle = diagnose(FakeServer(groups=groups, offsets=[row(10), row(10)]))
        assert idle["groups"].outcome is CheckOutcome.WARN
        assert "mail in orders (50)" in idle["groups"].finding

    def test_what_waits_for_a_decision_waits_for_no_consumer(self) -> None:
        counts = {"lost": 0, "in_flight": 0, "delayed": 0, "done_above": 0, "blocked": 1}
        rows = [PartitionProgress("orders", 0, progress=3, lag=5, **counts)]
        found = diagnose(FakeServer(groups=[group_of("mail")], offsets=[rows]))
        assert found["groups"].outcome is CheckOutcome.OK
        assert found["blocked"].outcome is CheckOutcome.WARN
        assert found["blocked"].finding.endswith("mail in orders (1)")
        assert "acklog keys list" in found["blocked"].advice

    def test_a_partition_that_is_gone_needs_no_leader(self) -> None:
        settings = TopicConfig("time", -1, -1, 1, 1, 1, 1)
        states = [PartitionState(0, leader=1), PartitionState(1, life="gone")]
        topic = TopicDescription("orders", "id", PARTITIONS_MAX, 1, settings, 1, partition_states=states)
        assert diagnose(FakeServer(topics=[topic]))["topics"].outcome is CheckOutcome.OK
        states.append(PartitionState(2))
        assert diagnose(FakeServer(topics=[topic]))["topics"].finding == "cannot be served: orders 2 (no leader)"

    def test_what_retention_took(self) -> None:
        rows = [PartitionProgress("orders", 0, progress=9, lag=0, lost=4, in_flight=0, delayed=0, done_above=0)]
        found = diagnose(FakeServer(groups=[group_of("mail")], offsets=[rows]))
        assert "mail in orders (4)" in found["lost"].finding

    def test_only_so_many_groups_are_looked_at(self) -> None:
        groups = [group_of(f"g{number}") for number in range(GROUPS_LOOKED_AT_MAX + 5)]
        server = FakeServer(groups=groups, offsets=[[]] * len(groups))
        diagnose(server)
        assert server.offsets_asked == GROUPS_LOOKED_AT_MAX


def _topic(name: str, *, cleanup_policy: str = "delete") -> TopicDescription:
    settings = TopicConfig("time", -1, -1, 1, 1, 1, 1, cleanup_policy=cleanup_policy)
    states = [PartitionState(0, leader=1)]
    return TopicDescription(name, name, PARTITIONS_MAX, 1, settings, 1, partition_states=states)


class TestSchedules:
    def test_what_is_due_for_a_minute_is_late_and_what_is_due_for_less_is_not(self) -> None:
        topics = [_topic("calls"), _topic("reminders")]
        in_time = {"calls": [1_000_510 - 60_000], "reminders": [2_000_000]}
        assert diagnose(FakeServer(topics=topics, scheduled=in_time))["schedules"].outcome is CheckOutcome.OK
        late = {**in_time, "calls": [1_000_510 - 60_001, 1_000_510 - 300_000]}
        found = diagnose(FakeServer(topics=topics, scheduled=late))["schedules"]
        assert found.outcome is CheckOutcome.WARN
        assert found.finding == "messages are due and not delivered in calls (by 5 min)"

    def test_how_late_the_latest_came_is_said(self) -> None:
        metrics = f"{HEALTHY}acklog_scheduled_late_seconds_max 3.0\n"
        found = diagnose(FakeServer(topics=[_topic("calls")], metrics=metrics))["schedules"]
        assert found.outcome is CheckOutcome.OK
        assert found.finding == "none late in 1 topic; the latest so far came 3 s after its time"

    def test_a_topic_that_is_not_served_is_not_asked(self) -> None:
        topic = _topic("calls")
        topic.partition_states.append(PartitionState(1))
        found = diagnose(FakeServer(topics=[topic], scheduled={"calls": [1]}))
        assert found["schedules"].finding == "none late in 0 topics"
        assert found["topics"].outcome is CheckOutcome.FAIL

    def test_nodes_of_an_earlier_version_know_none(self) -> None:
        found = diagnose(FakeServer(topics=[_topic("calls")], scheduled=NodesTooOld("no")))["schedules"]
        assert found.outcome is CheckOutcome.SKIPPED


def _job(number: int, *positions: int, failed: int = 0, rate: int | None = None, topic: str = "dead") -> RedriveJob:
    """Under way, with partitions that are so far; over, where there are none."""
    parts = [RedrivePart(partition, 0, 100, position, position, 0) for partition, position in enumerate(positions)]
    return RedriveJob(
        job_id=f"j{number}",
        group="mail",
        topic=topic,
        state="running" if parts else "done",
        created_at_ms=number,
        total=100,
        moved=sum(positions),
        failed=failed,
        rate_per_second=rate,
        finished_at_ms=None if parts else number,
        partitions=parts,
    )


class TestRedrives:
    def found(self, *looks: list[RedriveJob]) -> tuple[dict[str, Check], list[float]]:
        server = FakeServer(groups=[group_of("mail")], offsets=[[]], jobs=list(looks))
        return diagnose(server), server.pauses_s

    def test_none_and_none_that_failed(self) -> None:
        assert self.found([])[0]["redrives"].finding == "no jobs"
        found, pauses_s = self.found([_job(1)])
        assert (found["redrives"].outcome, found["redrives"].finding) == (
            CheckOutcome.OK,
            "1 job, none failed or stands still",
        )
        assert pauses_s == []

    def test_letters_that_the_newest_job_of_a_topic_left_are_told(self) -> None:
        found, _ = self.found([_job(3), _job(2, failed=1_200, topic="others"), _job(1, failed=7)])
        assert found["redrives"].outcome is CheckOutcome.WARN
        assert found["redrives"].finding == "letters could not be sent back by mail of others, j2 (1,200)"

    def test_a_job_that_does_not_move_stands_still_and_one_that_does_not(self) -> None:
        moving = [_job(1, 5, 5)], [_job(1, 5, 6)]
        assert self.found(*moving)[0]["redrives"].outcome is CheckOutcome.OK
        assert self.found([_job(1, 5, 5)], [_job(1)])[0]["redrives"].outcome is CheckOutcome.OK
        found, pauses_s = self.found([_job(1, 5, 5)])
        assert found["redrives still"].outcome is CheckOutcome.WARN
        assert found["redrives still"].finding == "nothing moves in mail of dead, j1"
        assert "redrives" not in found
        assert pauses_s == [5]

    def test_a_job_is_given_the_time_that_its_rate_takes(self) -> None:
        found, pauses_s = self.found([_job(1, *[0] * 8, rate=1)])
        assert (found["redrives still"].outcome, pauses_s) == (CheckOutcome.WARN, [16])
        found, pauses_s = self.found([_job(1, *[0] * 15, rate=1)])
        assert (found["redrives still"].outcome, pauses_s) == (CheckOutcome.WARN, [30])
        found, pauses_s = self.found([_job(1, *[0] * 16, rate=1)])
        assert (found["redrives"].outcome, pauses_s) == (CheckOutcome.OK, [])


def _compaction(topic: str, clean_bytes: int, dirty_bytes: int) -> CompactionState:
    replicas = [ReplicaCompaction(1, "idle", 10, 10), ReplicaCompaction(2, "running", clean_bytes, dirty_bytes)]
    return CompactionState(topic, [PartitionCompaction(0, replicas)], 0)


class TestCompaction:
    def found(self, state: Any = None, metrics: str = HEALTHY) -> dict[str, Check]:
        topics = [_topic("orders"), _topic("people", cleanup_policy="compact,delete")]
        answer = state if isinstance(state, Exception) else {"people": state or _compaction("people", 0, 0)}
        return diagnose(FakeServer(topics=topics, compaction=answer, metrics=metrics))

    def test_a_topic_is_far_behind_by_bytes_and_by_share(self) -> None:
        gib = 1 << 30
        for clean, dirty in ((0, gib - 1), (gib, gib), (gib, 3 * gib - 1)):
            assert self.found(_compaction("people", clean, dirty))["compaction"].outcome is CheckOutcome.OK
        assert self.found(_compaction("people", 0, gib))["compaction"].outcome is CheckOutcome.WARN
        found = self.found(_compaction("people", gib, 3 * gib))["compaction"]
        assert found.outcome is CheckOutcome.WARN
        assert found.finding == "far behind: people (3 GiB of a partition)"

    def test_passes_that_failed_are_told(self) -> None:
        found = self.found(metrics=f"{HEALTHY}acklog_compaction_failures_total 1.0\n")
        assert found["compaction failed"].outcome is CheckOutcome.WARN
        assert found["compaction failed"].finding == "1 pass failed since the start"
        assert found["compaction"].finding == "1 compacted topic, none far behind"
        assert "compaction failed" not in self.found(metrics=f"{HEALTHY}acklog_compaction_failures_total 0.0\n")

    def test_replicas_that_cannot_be_asked_are_told(self) -> None:
        problem = ProblemItem("UNAVAILABLE", "away", retriable=True)
        silent = PartitionCompaction(0, [ReplicaCompaction(2, problem=problem)])
        found = self.found(CompactionState("people", [silent], 1))
        assert found["compaction unknown"].finding == "could not be asked: people (1 replica)"

    def test_it_takes_a_token_that_may_administer(self) -> None:
        assert self.found(Forbidden("no"))["compaction"].outcome is CheckOutcome.SKIPPED


def group_of(name: str) -> Group:
    return Group(name, name, "shared", GroupSettings("earliest", 1, 1, 1, 1, 1), 0)


class TestMetricsText:
    def test_labels_and_sums(self) -> None:
        text = 'a{x="1",y="a \\"b\\" \\\\ c"} 2\na{x="2"} 3\nb 1.5e3 1700000\n# c 1\nnonsense\nd NaNa\n'
        metrics = ServerMetrics(text)
        assert metrics.value("a") == 5
        assert metrics.by_label("a", "x") == {"1": 2, "2": 3}
        assert metrics.by_label("a", "y") == {'a "b" \\ c': 2, "": 3}
        assert metrics.value("b") == 1500
        assert [metrics.value(name) for name in ("c", "d", "nonsense")] == [None, None, None]


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:5 / /proc rw shared:2 - proc proc rw
30 22 8:2 / /srv rw shared:3 - xfs /dev/sdb1 rw
31 30 0:50 / /srv/with\\040space rw - nfs4 host:/x rw
"""


class TestMachine:
    @pytest.mark.parametrize(
        ("path", "kind"),
        [("/var/lib", "ext4"), ("/srv", "xfs"), ("/srv/data", "xfs"), ("/srvx", "ext4"), ("/srv/with space/d", "nfs4")],
    )
    def test_the_file_system_is_that_of_the_nearest_mount(self, path: str, kind: str) -> None:
        assert file_system_type(Path(path), MOUNTS) == kind

    @pytest.mark.parametrize(
        ("kind", "outcome"),
        [
            ("ext4", CheckOutcome.OK),
            ("xfs", CheckOutcome.OK),
            ("nfs4", CheckOutcome.WARN),
            ("fuse.sshfs", CheckOutcome.WARN),
            ("overlay", CheckOutcome.WARN),
            ("tmpfs", CheckOutcome.FAIL),
            ("", CheckOutcome.SKIPPED),
        ],
    )
    def test_what_a_file_system_means(self, kind: str, outcome: CheckOutcome) -> None:
        assert file_system_check(kind).outcome is outcome

    @pytest.mark.parametrize(
        ("median_ms", "outcome"), [(0.3, CheckOutcome.OK), (11, CheckOutcome.WARN), (150, CheckOutcome.FAIL)]
    )
    def test_slow_syncs(self, median_ms: float, outcome: CheckOutcome) -> None:
        assert sync_check([median_ms, median_ms, 1000]).outcome is outcome

    def test_a_measurement_leaves_nothing_behind(self, tmp_path: Path) -> None:
        assert len(sync_durations_ms(tmp_path)) == machine_checks.SYNCS
        assert list(tmp_path.iterdir()) == []

    def test_a_directory_that_cannot_be_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(_path: Path) -> list[float]:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(machine_checks, "sync_durations_ms", refuse)
        found = {check.name: check for check in data_directory_checks(tmp_path)}
        assert found["sync"].outcome is CheckOutcome.SKIPPED
        assert "Permission denied" in found["sync"].finding

    def test_few_open_files(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(machine_checks.resource, "getrlimit", lambda _what: (256, 4096))
        check = machine_checks._open_files()
        assert check.outcome is CheckOutcome.WARN
        assert "ulimit -n" in check.advice

    def test_an_old_python(self) -> None:
        assert machine_checks._python((3, 9, 1)).outcome is CheckOutcome.FAIL


@pytest.mark.parametrize(
    ("protocols", "needed", "outcome", "finding"),
    [
        ((4, 4), 4, CheckOutcome.OK, "2 nodes, all of one version"),
        ((4, 3), 0, CheckOutcome.WARN, "of an earlier version than others: node 2"),
        ((0, 4, 3), 4, CheckOutcome.FAIL, "cannot serve some group that there is: node 1, 3"),
    ],
)
def test_nodes_of_an_earlier_version_are_named(
    protocols: tuple[int, ...], needed: int, outcome: CheckOutcome, finding: str
) -> None:
    check = diagnose(FakeServer(status=cluster_status(*protocols, needed_protocol=needed)))["nodes"]
    assert check.outcome is outcome
    assert finding in check.finding
    assert ("Install" in check.advice) is (outcome is not CheckOutcome.OK)
