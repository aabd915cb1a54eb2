"""Calls of SQS: who answers them, and what queues are called."""

import json
import re

import pytest

from app.configuration.gateway_options import GATEWAY
from app.configuration.server_settings import SERVE, Settings
from app.configuration.setting_error import SettingsError
from app.configuration.setting_fields import SettingSources
from tests.support.pod_environment import PodFacts, environment_of
from tests.support.rendered_chart import CHART, Chart, pod_specs
from tests.unit.helm.matrix import MATRIX

SOURCES: dict[str, SettingSources] = {"gateway": GATEWAY, "serve": SERVE}
POD = PodFacts(name="acklog-node-3", ip="10.1.2.3", labels={"apps.kubernetes.io/pod-index": "3"})
URLS = [
    *("", "http://localhost:8080", "https://queue.example/", "https://[::1]:1", "https://a.example/sqs/v1"),
    *("queue.example", "ftp://queue.example", "https://a@queue.example", "https://queue.example?a=b", "https://a b"),
]


def environments(chart: Chart, name: str) -> dict[str, dict[str, str]]:
    """By the command."""
    return {
        container["args"][0]: environment_of(container, POD)
        for _, spec in pod_specs(chart.documents(MATRIX[name]))
        for container in spec["containers"]
        if container["command"] == ["acklog"]
    }


def settings_of(chart: Chart, name: str, command: str) -> Settings:
    return SOURCES[command].load(environments(chart, name)[command]).make(Settings)


def test_gateways_know_what_queues_are_called_and_nodes_need_not(chart: Chart) -> None:
    settings = settings_of(chart, "cluster behind an ingress", "gateway")
    assert not settings.no_sqs
    assert (settings.sqs_account, settings.sqs_region) == ("012345678901", "eu-central-1")
    assert settings.public_url == "https://queue.example"
    of_node = environments(chart, "cluster behind an ingress")["node"]
    assert [each for each in of_node if "SQS" in each or "PUBLIC_URL" in each] == []


def test_they_are_not_answered_where_that_is_said(chart: Chart) -> None:
    assert settings_of(chart, "embedded without SQS", "serve").no_sqs
    assert not settings_of(chart, "embedded", "serve").no_sqs


def test_without_values_all_is_as_without_the_chart(chart: Chart) -> None:
    settings, own = settings_of(chart, "embedded", "serve"), Settings()
    assert (settings.sqs_account, settings.sqs_region) == (own.sqs_account, own.sqs_region)
    assert settings.public_url == own.public_url


@pytest.mark.parametrize("url", URLS)
def test_the_schema_takes_the_urls_that_the_server_takes(url: str) -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    is_taken = re.search(schema["properties"]["publicUrl"]["pattern"], url) is not None
    try:
        Settings(public_url=url)
    except SettingsError:
        assert not is_taken
    else:
        assert is_taken
