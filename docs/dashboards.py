"""Grafana's dashboards, as code: panel by panel what is shown and by which query. `python -m docs.generate` writes them
for the chart, which gives them to Grafana's sidecar; anybody else imports the files as they are."""

import json
from dataclasses import dataclass

SCHEMA_VERSION = 39
"""Of Grafana 10; later versions read it."""
_WIDTH = 24
_HEIGHT = 8
_TOPIC, _GROUP = 'topic=~"$topic"', 'group=~"$group"'
CERTIFICATES = "Certificates: valid for"
_IN = f"{{{_TOPIC},{_GROUP}}}"


@dataclass(frozen=True)
class Panel:
    """A plot over time, or, with `is_number`, the newest value as a number. `legend` is Grafana's format."""

    title: str
    query: str
    unit: str = "short"
    legend: str = ""
    text: str = ""
    is_number: bool = False


@dataclass(frozen=True)
class Variable:
    """Something to choose at the top: the values of a label of a metric."""

    name: str
    metric: str


@dataclass(frozen=True)
class Dashboard:
    name: str
    title: str
    panels: tuple[Panel, ...]
    variables: tuple[Variable, ...] = ()


def quantile(metric: str, by: str = "", selector: str = "", *, share: float = 0.99) -> str:
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, sum by ({labels}) (rate({metric}_bucket{selector}[$__rate_interval])))"


def rate(metric: str, by: str, selector: str = "") -> str:
    return f"sum by ({by}) (rate({metric}{selector}[$__rate_interval]))"


DASHBOARDS = (
    Dashboard(
        "overview",
        "Acklog: overview",
        (
            Panel("Sent a second", "sum(rate(acklog_messages_sent_total[$__rate_interval]))", is_number=True),
            Panel("Delivered a second", "sum(rate(acklog_messages_delivered_total[$__rate_interval]))", is_number=True),
            Panel("Not done", "sum(acklog_group_lag)", is_number=True),
            Panel("The oldest of them", "max(acklog_group_oldest_age_seconds)", "s", is_number=True),
            Panel("Messages a second", rate("acklog_messages_sent_total", "topic"), "ops", "{{topic}}"),
            Panel(
                "Sends: how long one in a hundred takes",
                quantile("acklog_http_request_seconds", "", '{route="/messages",method="POST"}'),
                "s",
            ),
            Panel("Requests", rate("acklog_http_requests_total", "route, method"), "ops", "{{method}} {{route}}"),
            Panel("Answers by status", rate("acklog_http_requests_total", "status"), "ops", "{{status}}"),
            Panel(
                "Messages refused",
                "sum by (code) (increase(acklog_messages_refused_total[$__rate_interval])) or vector(0)",
                "short",
                "{{code}}",
            ),
            Panel("Lag by group", "sum by (topic, group) (acklog_group_lag)", "short", "{{group}} in {{topic}}"),
        ),
    ),
    Dashboard(
        "topic",
        "Acklog: topic",
        (
            Panel("Sent", rate("acklog_messages_sent_total", "topic", f"{{{_TOPIC}}}"), "ops", "{{topic}}"),
            Panel("Stored", f"sum by (topic) (acklog_log_bytes{{{_TOPIC}}})", "bytes", "{{topic}}"),
            Panel("Ends of its logs", f"sum by (topic) (acklog_high_watermark{{{_TOPIC}}})", "short", "{{topic}}"),
            Panel(
                "Delivered",
                rate("acklog_messages_delivered_total", "topic, group", f"{{{_TOPIC}}}"),
                "ops",
                "{{group}}",
            ),
            Panel("Not done, by group", f"sum by (group) (acklog_group_lag{{{_TOPIC}}})", "short", "{{group}}"),
            Panel(
                "To be seen later",
                f"sum by (topic) (acklog_scheduled_pending{{{_TOPIC}}}) or vector(0)",
                "short",
                "{{topic}}",
            ),
        ),
        (Variable("topic", "acklog_high_watermark"),),
    ),
    Dashboard(
        "group",
        "Acklog: group",
        (
            Panel("Not done", f"sum by (topic, group) (acklog_group_lag{_IN})", "short", "{{group}} in {{topic}}"),
            Panel(
                "Behind, in time",
                f"max by (topic, group) (acklog_group_lag_seconds{_IN})",
                "s",
                "{{group}} in {{topic}}",
            ),
            Panel(
                "Age of the oldest that is not done",
                f"max by (topic, group) (acklog_group_oldest_age_seconds{_IN})",
                "s",
                "{{group}} in {{topic}}",
            ),
            Panel(
                "In flight", f"sum by (topic, group) (acklog_group_in_flight{_IN})", "short", "{{group}} in {{topic}}"
            ),
            Panel(
                "Delivered",
                rate("acklog_messages_delivered_total", "topic, group", _IN),
                "ops",
                "{{group}} in {{topic}}",
            ),
            Panel(
                "Delivered again",
                rate("acklog_messages_redelivered_total", "topic, group", _IN) + " or vector(0)",
                "ops",
                "{{group}} in {{topic}}",
            ),
            Panel(
                "Dead letters",
                f"sum by (topic, group) (acklog_group_dead_lettered{_IN})",
                "short",
                "{{group}} in {{topic}}",
            ),
            Panel("Blocked", f"sum by (topic, group) (acklog_group_blocked{_IN})", "short", "{{group}} in {{topic}}"),
            Panel("Expired", f"sum by (topic, group) (acklog_group_expired{_IN})", "short", "{{group}} in {{topic}}"),
            Panel(
                "Lost to retention",
                f"sum by (topic, group) (acklog_group_lost_to_retention{_IN})",
                "short",
                "{{group}} in {{topic}}",
            ),
        ),
        (Variable("topic", "acklog_group_lag"), Variable("group", "acklog_group_lag")),
    ),
    Dashboard(
        "node",
        "Acklog: processes",
        (
            Panel(
                "Processor",
                "sum by (instance) (rate(process_cpu_seconds_total[$__rate_interval]))",
                "percentunit",
                "{{instance}}",
                "Each process is one event loop: 100 % is its end.",
            ),
            Panel("Memory", "max by (instance) (process_resident_memory_bytes)", "bytes", "{{instance}}"),
            Panel("Event loop: late by", quantile("acklog_event_loop_delay_seconds", "instance"), "s", "{{instance}}"),
            Panel(
                "Syncs: how long one in a hundred takes",
                quantile("acklog_disk_sync_seconds", "instance"),
                "s",
                "{{instance}}",
            ),
            Panel("Syncs a second", rate("acklog_disk_sync_seconds_count", "instance"), "ops", "{{instance}}"),
            Panel("Disk: free", "min by (instance) (acklog_disk_free_bytes)", "bytes", "{{instance}}"),
            Panel("Waits for the disk", "max by (instance) (acklog_append_pending_bytes)", "bytes", "{{instance}}"),
            Panel(
                "Limits: share that is used",
                "max by (instance, limit) (acklog_limit_used_ratio)",
                "percentunit",
                "{{limit}} {{instance}}",
            ),
            Panel("Descriptors", "max by (instance) (process_open_fds)", "short", "{{instance}}"),
            Panel("Partitions led", "max by (instance) (acklog_partitions_led)", "short", "{{instance}}"),
            Panel(
                CERTIFICATES,
                "min by (instance, use) (acklog_tls_certificate_not_after_timestamp_seconds) - time()",
                "s",
                "{{use}} {{instance}}",
                "Empty without TLS. Below two weeks something that should renew them did not.",
            ),
            Panel(
                "TLS: connections that came to nothing",
                rate("acklog_tls_connections_refused_total", "listener, reason") + " or vector(0)",
                "ops",
                "{{listener}} {{reason}}",
            ),
        ),
    ),
    Dashboard(
        "cluster",
        "Acklog: cluster",
        (
            Panel("Nodes", "max(acklog_cluster_nodes)", is_number=True),
            Panel("Without a leader", "max(acklog_cluster_partitions_without_leader)", is_number=True),
            Panel("Below the minimum", "max(acklog_cluster_partitions_below_minimum)", is_number=True),
            Panel("Under-replicated", "max(acklog_cluster_partitions_under_replicated)", is_number=True),
            Panel("Who is the controller", "max by (instance) (acklog_controller)", "short", "{{instance}}"),
            Panel("Came into sync, and left", rate("acklog_isr_changes_total", "kind"), "ops", "{{kind}}"),
            Panel(
                "Not known to be committed",
                "max by (instance) (acklog_node_uncommitted_records)",
                "short",
                "{{instance}}",
            ),
            Panel("Replicas", "max by (instance) (acklog_node_replicas)", "short", "{{instance}}"),
            Panel(
                "Connections of nodes and gateways",
                "max by (instance) (acklog_node_connections)",
                "short",
                "{{instance}}",
            ),
            Panel(
                "etcd: how long one call in a hundred takes",
                quantile("acklog_etcd_call_seconds", "method"),
                "s",
                "{{method}}",
            ),
            Panel("etcd: calls a second", rate("acklog_etcd_call_seconds_count", "method"), "ops", "{{method}}"),
            Panel(
                "Transactions of the controller",
                rate("acklog_controller_transactions_total", "instance"),
                "ops",
                "{{instance}}",
            ),
        ),
    ),
)


def dashboard_files() -> dict[str, str]:
    """Path in the repository to the content of each dashboard's file."""
    return {f"helm/acklog/files/dashboards/{each.name}.json": _document(each) for each in DASHBOARDS}


def _document(dashboard: Dashboard) -> str:
    document = {
        "uid": f"acklog-{dashboard.name}",
        "title": dashboard.title,
        "tags": ["acklog"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_source(), *map(_variable, dashboard.variables)]},
        "panels": _panels(dashboard.panels),
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _source() -> dict[str, object]:
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _variable(variable: Variable) -> dict[str, object]:
    return {
        "name": variable.name,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "$source"},
        "query": f"label_values({variable.metric}, {variable.name})",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _panels(panels: tuple[Panel, ...]) -> list[dict[str, object]]:
    """Numbers four in a row and half as high, plots two in a row."""
    found: list[dict[str, object]] = []
    x = y = 0
    for number, panel in enumerate(panels, start=1):
        width, height = (_WIDTH // 4, _HEIGHT // 2) if panel.is_number else (_WIDTH // 2, _HEIGHT)
        if x + width > _WIDTH:
            x, y = 0, y + height
        found.append(_panel(panel, number, {"x": x, "y": y, "w": width, "h": height}))
        x += width
    return found


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, object]:
    source = {"type": "prometheus", "uid": "$source"}
    return {
        "id": number,
        "title": panel.title,
        "description": panel.text,
        "type": "stat" if panel.is_number else "timeseries",
        "datasource": source,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [{"refId": "A", "datasource": source, "expr": panel.query, "legendFormat": panel.legend}],
    }
