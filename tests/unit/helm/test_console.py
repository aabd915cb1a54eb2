"""The web console: served by who is called, unless that is not wanted."""

import pytest

from tests.support.rendered_chart import Chart
from tests.unit.helm.test_sqs import environments, settings_of


@pytest.mark.parametrize(("mode", "command"), [("cluster", "gateway"), ("embedded", "serve")])
def test_it_is_left_out_where_that_is_said(chart: Chart, mode: str, command: str) -> None:
    name = f"{mode} without the console"
    assert settings_of(chart, name, command).no_console
    assert [each for each in environments(chart, name).get("node", {}) if "CONSOLE" in each] == []


@pytest.mark.parametrize(("name", "command"), [("cluster behind an ingress", "gateway"), ("embedded", "serve")])
def test_else_it_is_served(chart: Chart, name: str, command: str) -> None:
    assert not settings_of(chart, name, command).no_console
