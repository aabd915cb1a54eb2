"""The rules for Prometheus: each has a page, looks at metrics that there are, fires for its trouble and for no less."""

import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from docs.alert_faults import FAULTS, FOLDER, NOT_SEEN
from docs.alerts_table import RULES, alert_rules
from docs.dashboards import DASHBOARDS
from tests.support.impatient_rules import impatient

REPOSITORY = Path(__file__).resolve().parents[3]
RUNBOOKS = REPOSITORY / "docs" / "runbooks"
PROMTOOL = shutil.which("promtool")
NODE = 'instance="n1"'
GROUP = 'topic="orders",group="mail"'
OF_HTTP = f'{NODE},use="http"'
KEY_FAILURES = f"acklog_jwt_key_refresh_failures_total{{{NODE}}}"
KEYS_AGE, KEYS_LEFT = f"acklog_jwt_keys_age_seconds{{{NODE}}}", f"acklog_jwt_keys_left_seconds{{{NODE}}}"
AUDIT_WAITS, AUDIT_STORED = (
    f"acklog_audit_waiting_bytes{{{NODE}}}",
    f'acklog_audit_records_total{{{NODE},result="allowed"}}',
)
ASKED = f'acklog_consumer_calls_total{{{GROUP},call="receive"}}'
_DURATIONS = {
    "AcklogSyncsSlow": ("acklog_disk_sync_seconds", NODE, 0.1),
    "AcklogSendsSlow": ("acklog_http_request_seconds", 'route="/messages",method="POST"', 0.25),
    "AcklogEventLoopLate": ("acklog_event_loop_delay_seconds", NODE, 0.1),
    "AcklogEtcdSlow": ("acklog_etcd_call_seconds", 'method="Txn"', 0.5),
}


@dataclass(frozen=True)
class Case:
    """Series by which the rule fires within `at`, and by which it does not. Values are promtool's, a step a minute."""

    fires: dict[str, str]
    is_quiet: dict[str, str]
    at: str = "40m"
    labels: dict[str, str] = field(default_factory=dict)


def gauge(name: str, labels: str = NODE, *, trouble: str = "1x40", calm: str = "0x40") -> Case:
    return Case({f"{name}{{{labels}}}": trouble}, {f"{name}{{{labels}}}": calm})


def histogram(name: str, labels: str, limit_s: float) -> Case:
    """Five in a hundred are slower than the limit, or none."""
    series = f"{name}_bucket{{{labels},le="
    slow = {
        f'{series}"{limit_s}"}}': "0+95x40",
        f'{series}"{limit_s * 10}"}}': "0+100x40",
        f'{series}"+Inf"}}': "0+100x40",
    }
    return Case(slow, dict.fromkeys(slow, "0+100x40"))


CASES = {
    "AcklogStorageFailed": gauge("acklog_storage_failed"),
    "AcklogPartitionsRefused": gauge("acklog_partitions_refused"),
    "AcklogPartitionsWithoutLeader": gauge("acklog_cluster_partitions_without_leader"),
    "AcklogPartitionsBelowMinimum": gauge("acklog_cluster_partitions_below_minimum"),
    "AcklogPartitionsUnderReplicated": gauge("acklog_cluster_partitions_under_replicated"),
    "AcklogNoController": gauge("acklog_controller", trouble="0x40", calm="1x40"),
    "AcklogNodeMissing": Case(
        {
            'acklog_node_info{node="1"}': "1x40",
            'acklog_node_info{node="2"}': "1x10 _x30",
            "acklog_cluster_nodes": "2x10 1x30",
        },
        {'acklog_node_info{node="1"}': "1x40", 'acklog_node_info{node="2"}': "1x40", "acklog_cluster_nodes": "2x40"},
    ),
    "AcklogUncleanElection": gauge("acklog_cluster_unclean_elections", trouble="3x34 4x10", calm="4x45"),
    "AcklogServerErrors": gauge("acklog_http_requests_total", 'status="503"', trouble="0+60x40", calm="7x40"),
    "AcklogDiskAlmostFull": Case(
        {f"acklog_disk_free_bytes{{{NODE}}}": "1000-10x40", f"acklog_disk_reserve_bytes{{{NODE}}}": "100x40"},
        {f"acklog_disk_free_bytes{{{NODE}}}": "1000x40", f"acklog_disk_reserve_bytes{{{NODE}}}": "100x40"},
    ),
    "AcklogDiskImpaired": gauge("acklog_node_disk_impaired"),
    "AcklogDamageFound": gauge("acklog_scrub_damaged_places"),
    "AcklogReplicaStandsStill": gauge("acklog_node_replicas_standing_still"),
    "AcklogCompactionFails": gauge("acklog_compaction_failures_total", trouble="0+1x40", calm="3x40"),
    "AcklogSendsRefused": gauge("acklog_messages_refused_total", 'code="OVERLOADED"', trouble="0+5x40", calm="5x40"),
    "AcklogQuotaExceeded": gauge("acklog_quota_refused_total", 'quota="topic"', trouble="0+5x40", calm="5x40"),
    "AcklogDescriptorsAlmostUsed": Case(
        {"process_open_fds": "90x40", "process_max_fds": "100x40", "acklog_event_loop_delay_seconds_count": "1x40"},
        {"process_open_fds": "90x40", "process_max_fds": "100x40"},  # a process of somebody else's
    ),
    "AcklogLimitAlmostReached": gauge("acklog_limit_used_ratio", 'limit="a"', trouble="0.9x40", calm="0.7x40"),
    "AcklogGroupBehind": gauge("acklog_group_oldest_age_seconds", GROUP, trouble="901x40", calm="60x40"),
    "AcklogNobodyReceives": Case(
        {f"acklog_group_available{{{GROUP}}}": "5x40", ASKED: "7x40"},
        {f"acklog_group_available{{{GROUP}}}": "5x40", ASKED: "0+1x40"},
    ),
    "AcklogGroupBlocked": gauge("acklog_group_blocked", GROUP),
    "AcklogDeadLetters": gauge("acklog_group_dead_letters_total", GROUP, trouble="5x30 7x10", calm="5x40"),
    "AcklogLostToRetention": gauge(
        "acklog_group_losses_total", f'{GROUP},cause="retention"', trouble="5x30 7x10", calm="5x40"
    ),
    "AcklogScheduledLate": Case(
        {"acklog_scheduled_late_seconds_total": "0+60x40", "acklog_scheduled_delivered_total": "0+6x40"},
        {"acklog_scheduled_late_seconds_total": "0+1x40", "acklog_scheduled_delivered_total": "0+6x40"},
    ),
    "AcklogRedriveFails": gauge("acklog_redrive_failed_total", trouble="0x20 2x20", calm="2x40"),
    # Times since 1970, at which promtool begins: the fires and the quiet are ten days on, and twenty.
    "AcklogCertificateEnds": gauge(
        "acklog_tls_certificate_not_after_timestamp_seconds", OF_HTTP, trouble="864000x40", calm="1728000x40"
    ),
    "AcklogCertificateNotReloaded": gauge("acklog_tls_reload_failures_total", OF_HTTP, trouble="0+6x40", calm="6x40"),
    "AcklogIssuerKeysNotRead": Case(
        {KEY_FAILURES: "0+6x40", KEYS_AGE: "0+60x40"}, {KEY_FAILURES: "6x40", KEYS_AGE: "0+60x40"}
    ),
    "AcklogIssuerKeysEnd": Case(
        {KEYS_LEFT: "5400-60x40", KEY_FAILURES: "0+6x40", KEYS_AGE: "16200+60x40"},
        {KEYS_LEFT: "9000-60x40", KEY_FAILURES: "0+6x40", KEYS_AGE: "12600+60x40"},
    ),
    "AcklogAuditRecordsWait": Case(
        {AUDIT_WAITS: "0x10 500+100x30", AUDIT_STORED: "0+1x10 10x30"}, {AUDIT_WAITS: "0x40", AUDIT_STORED: "10x40"}
    ),
    "AcklogAuditRecordsLost": gauge("acklog_audit_records_lost_total", trouble="0x30 7x10", calm="7x40"),
    **{name: histogram(*case) for name, case in _DURATIONS.items()},
}


def test_each_alert_has_a_page_and_each_page_an_alert() -> None:
    alerts = {str(rule["alert"]): rule for rule in alert_rules()}
    pages = {page.stem for page in RUNBOOKS.glob("Acklog*.md")}
    assert set(alerts) == pages == set(CASES)
    for name, rule in alerts.items():
        assert rule["annotations"]["runbook"] == f"docs/runbooks/{name}.md"  # type: ignore[index]
        assert rule["labels"]["severity"] in {"page", "ticket"}  # type: ignore[index]
        text = (RUNBOOKS / f"{name}.md").read_text()
        assert text.startswith(f"# {name}\n")
        assert all(f"**{part}" in text for part in ("What it means", "How to see it", "What to do"))


def test_rules_pages_and_dashboards_name_metrics_that_there_are() -> None:
    told = re.findall(
        r"^\| `((?:acklog|process)_\w+)` \| (\w+)", (REPOSITORY / "docs" / "metrics.md").read_text(), re.M
    )
    known = {name for name, _ in told}
    known |= {name + suffix for name, kind in told if kind == "histogram" for suffix in ("_bucket", "_count", "_sum")}
    texts = {"alerts.yaml": RULES.read_text(), **{page.name: page.read_text() for page in RUNBOOKS.glob("*.md")}}
    texts |= {each.name: "\n".join(panel.query for panel in each.panels) for each in DASHBOARDS}
    for where, text in texts.items():
        named = set(re.findall(r"(?<![\w/])(?:acklog|process)_[a-z_]+", text))
        assert named - known == set(), where


COUNTED_RARELY = {
    "AcklogDeadLetters": f'acklog_group_dead_letters_total{{{GROUP},cause="attempts"',
    "AcklogLostToRetention": f'acklog_group_losses_total{{{GROUP},cause="retention"',
    "AcklogRedriveFails": 'acklog_redrive_failed_total{version="1"',
}
"""Where a single step is the trouble: one that comes with the series is seen by no `increase`."""
ALSO_QUIET = {
    "a start that takes much of the disk at once is no slope": (
        "AcklogDiskAlmostFull",
        {f"acklog_disk_free_bytes{{{NODE}}}": "10000 9000x8", f"acklog_disk_reserve_bytes{{{NODE}}}": "100x40"},
        "8m",
    ),
    "two refusals within a quarter of an hour are no quarter of an hour of them": (
        "AcklogQuotaExceeded",
        {'acklog_quota_refused_total{quota="topic"}': "0x5 1x10 2x30"},
        "30m",
    ),
    "what is delayed, blocked or paused waits for no consumer": (
        "AcklogNobodyReceives",
        {f"acklog_group_lag{{{GROUP}}}": "5x40", f"acklog_group_available{{{GROUP}}}": "0x40"},
        "40m",
    ),
    "who extends his leases is at work": (
        "AcklogNobodyReceives",
        {f"acklog_group_available{{{GROUP}}}": "5x40", ASKED.replace("receive", "extend"): "0+1x40", ASKED: "1x40"},
        "40m",
    ),
    "who deletes messages on purpose knows it": (
        "AcklogLostToRetention",
        {f'acklog_group_losses_total{{{GROUP},cause="deleted"}}': "0x30 7x10"},
        "40m",
    ),
    "a look in the middle of a change is not a quarter of an hour of them": (
        "AcklogCertificateNotReloaded",
        {f"acklog_tls_reload_failures_total{{{OF_HTTP}}}": "0x20 1x20"},
        "24m",
    ),
    "keys that are read at every other look are no old ones": (
        "AcklogIssuerKeysNotRead",
        {KEY_FAILURES: "0+1x40", KEYS_AGE: "0 60 120 180 0 60 120 180 0 60 120 180 0 60 120 180 0 60 120 180 0 60 120"},
        "22m",
    ),
    "keys that are good for half an hour by the settings are read again": (
        "AcklogIssuerKeysEnd",
        {KEYS_LEFT: "1800x40", KEY_FAILURES: "3x40", KEYS_AGE: "0x40"},
        "40m",
    ),
    "many records on their way are none that wait": (
        "AcklogAuditRecordsWait",
        {AUDIT_WAITS: "500x40", AUDIT_STORED: "0+600x40"},
        "40m",
    ),
    "a server of its own has no controller": ("AcklogNoController", {"acklog_storage_failed": "0x40"}, "40m"),
    **{
        f"what was counted before anybody scraped is no news: {alert}": (
            alert,
            {f"{series},{NODE}}}": "_x35 3x10", f"process_start_time_seconds{{{NODE}}}": "_x35 0x10"},
            "40m",
        )
        for alert, series in COUNTED_RARELY.items()
    },
}
ALSO_FIRING = {
    "all nodes are gone: no controller": (
        "AcklogNoController",
        {"acklog_controller": "1x10 _x30", 'acklog_etcd_call_seconds_count{instance="gateway"}': "0+1x40"},
        "40m",
    ),
    "all nodes are gone": (
        "AcklogNodeMissing",
        {'acklog_node_info{node="1"}': "1x10 _x30", "acklog_cluster_nodes": "1x10 _x30"},
        "40m",
    ),
    "who is cut off goes on to say that all are there": (
        "AcklogNodeMissing",
        {
            'acklog_node_info{node="1"}': "1x40",
            'acklog_node_info{node="2"}': "1x40",
            'acklog_cluster_nodes{instance="1"}': "1x40",
            'acklog_cluster_nodes{instance="2"}': "2x40",
        },
        "40m",
    ),
    "a certificate that has ended": (
        "AcklogCertificateEnds",
        {f"acklog_tls_certificate_not_after_timestamp_seconds{{{OF_HTTP}}}": "60x40"},
        "40m",
    ),
    "of two certificates the one for peers ends": (
        "AcklogCertificateEnds",
        {
            f"acklog_tls_certificate_not_after_timestamp_seconds{{{OF_HTTP}}}": "1728000x40",
            f'acklog_tls_certificate_not_after_timestamp_seconds{{{NODE},use="peers"}}': "864000x40",
        },
        "40m",
    ),
    "a gateway that has begun without an issuer": (
        "AcklogIssuerKeysEnd",
        {KEYS_LEFT: "0x10", KEY_FAILURES: "0+6x10"},
        "10m",
    ),
    "keys that were never read": ("AcklogIssuerKeysNotRead", {KEYS_LEFT: "0x40", KEY_FAILURES: "0+6x40"}, "40m"),
    "keys that are over": (
        "AcklogIssuerKeysEnd",
        {KEYS_LEFT: "0x40", KEY_FAILURES: "0+6x40", KEYS_AGE: "30000+60x40"},
        "40m",
    ),
    "the first records of a gateway have nowhere to go": ("AcklogAuditRecordsWait", {AUDIT_WAITS: "500x40"}, "40m"),
    "one gateway of two stores none": (
        "AcklogAuditRecordsWait",
        {AUDIT_WAITS: "500x40", 'acklog_audit_records_total{instance="n2",result="allowed"}': "0+600x40"},
        "40m",
    ),
    "one long lease hides nobody who stays away": (
        "AcklogNobodyReceives",
        {f"acklog_group_available{{{GROUP}}}": "49x40", f"acklog_group_in_flight{{{GROUP}}}": "1x40", ASKED: "1x40"},
        "40m",
    ),
    "connections are refused long before the descriptors are used": (
        "AcklogDescriptorsAlmostUsed",
        {"acklog_connections": "90x40", "acklog_connections_max": "100x40"},
        "40m",
    ),
    **{
        f"the first of a group come before its first scrape: {alert}": (
            alert,
            {f"{series},{NODE}}}": "_x35 3x10", f"process_start_time_seconds{{{NODE}}}": "0x45"},
            "40m",
        )
        for alert, series in COUNTED_RARELY.items()
    },
    **{
        f"the first of a process come before its first scrape: {alert}": (
            alert,
            {f"{series},{NODE}}}": "_x35 3x10", f"process_start_time_seconds{{{NODE}}}": "_x35 2080x10"},
            "40m",
        )
        for alert, series in COUNTED_RARELY.items()
    },
}


@pytest.mark.skipif(PROMTOOL is None, reason="promtool (Debian's package prometheus) is not installed")
def test_each_alert_fires_for_its_trouble_and_for_no_less(tmp_path: Path) -> None:
    assert PROMTOOL is not None
    tests = [(name, _rule_test(name, case.fires, case.at, is_expected=True)) for name, case in CASES.items()]
    tests += [(name, _rule_test(name, case.is_quiet, case.at, is_expected=False)) for name, case in CASES.items()]
    tests += [(each[0], _rule_test(*each, is_expected=True)) for each in ALSO_FIRING.values()]
    tests += [(each[0], _rule_test(*each, is_expected=False)) for each in ALSO_QUIET.values()]
    files = []
    for rule in alert_rules():  # one by one: else each of the tests would evaluate all of them
        name = str(rule["alert"])
        rules, unit_tests = tmp_path / f"{name}.yaml", tmp_path / f"{name}-tests.yaml"
        rules.write_text(yaml.safe_dump({"groups": [{"name": name, "rules": [rule]}]}))
        of_rule = [test for alert, test in tests if alert == name]
        unit_tests.write_text(yaml.safe_dump({"rule_files": [str(rules)], "tests": of_rule}))
        files.append(str(unit_tests))
    for arguments in (["check", "rules", str(RULES)], ["test", "rules", *files]):
        run = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, timeout=120, check=False)
        assert run.returncode == 0, run.stdout + run.stderr


def _rule_test(name: str, series: dict[str, str], at: str, *, is_expected: bool) -> dict[str, object]:
    expression = f'count(ALERTS{{alertname="{name}",alertstate="firing"}}) > 0 or vector(0)'
    expected = [{"labels": "{}", "value": int(is_expected)}]
    return {
        "interval": "1m",
        "input_series": [{"series": each, "values": values} for each, values in series.items()],
        "promql_expr_test": [{"expr": expression, "eval_time": at, "exp_samples": expected}],
    }


def test_each_alert_is_seen_firing_by_a_test_that_there_is() -> None:
    alerts = [str(rule["alert"]) for rule in alert_rules()]
    assert list(FAULTS) == alerts
    sources = "".join(path.read_text() for path in (REPOSITORY / FOLDER).glob("test_*.py"))
    assert [alert for alert, seen in FAULTS.items() if seen.test == NOT_SEEN] == ["AcklogReplicaStandsStill"]
    assert {seen.test for seen in FAULTS.values()} - {NOT_SEEN} <= set(re.findall(r"def (test_\w+)\(", sources))


def test_impatient_rules_differ_in_durations_alone(tmp_path: Path) -> None:
    rules = yaml.safe_load(impatient(tmp_path / "alerts.yaml").read_text())
    text = "\n".join(f"{rule['expr']} for: {rule.get('for')}" for each in rules["groups"] for rule in each["rules"])
    assert "[1000ms]" not in text  # no range of a minute: each needs two scrapes
    assert "predict_linear(acklog_disk_free_bytes[60000ms], 240)" in text
    assert "offset 10000ms" in text
    assert "> 900" in text
    assert not re.search(r"\d[mh]\b", re.sub(r"\d+ms", "", text))
