"""What is asked for on the command line is what is done; what a run needs is said in a line."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from acklog_spark import sessions
from loadtests import spark_bench
from loadtests.kafka_broker import connector_jars
from loadtests.payloads import batch_bodies
from loadtests.spark_bench import chosen_plan
from loadtests.spark_plan import QUICK, Size, SparkPlan


def test_scenarios_are_chosen_in_their_order() -> None:
    plan = chosen_plan(QUICK, ["live", "small"], 2)
    assert (plan.scenarios, plan.rounds, plan.small) == (("small", "live"), 2, QUICK.small)
    assert chosen_plan(SparkPlan(), [], None) == SparkPlan()
    with pytest.raises(typer.BadParameter, match="there is no scenario 'medium'; there are small, large, live"):
        chosen_plan(QUICK, ["medium"], None)


@pytest.mark.parametrize("size", [SparkPlan().small, SparkPlan().large], ids=lambda size: size.name)
def test_bodies_have_the_size_that_they_are_said_to_have(size: Size) -> None:
    [first, *_] = json.loads(batch_bodies(size.topic, 2, body_bytes=size.body_bytes)[0])["messages"]
    assert len(json.dumps(first["body"])) == size.body_bytes


def test_without_java_there_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.delenv(sessions._SUBMITTED, raising=False)
    app = typer.Typer()
    app.command()(spark_bench.main)
    done = CliRunner().invoke(app, ["--quick", "--json", str(tmp_path / "run.json")])
    assert done.exit_code == 1
    assert "Java cannot be run" in done.output
    assert json.loads((tmp_path / "run.json").read_text())["failure"].startswith("CommandError")


def test_kafkas_jars_are_those_of_the_connector(tmp_path: Path) -> None:
    (tmp_path / "connector").mkdir()
    for name in ("b.jar", "a.jar", "read.me"):
        (tmp_path / "connector" / name).touch()
    assert connector_jars(tmp_path) == f"{tmp_path}/connector/a.jar,{tmp_path}/connector/b.jar"
