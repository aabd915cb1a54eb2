"""doctor and bench against a real server: text, JSON, errors, without a terminal, into a pipe."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_run import CommandRun, run_command
from tests.support.server_process import REPOSITORY, ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

Acklog = Callable[..., CommandRun]
SETTINGS = {"ACKLOG_NODE_JOURNAL_FILE_BYTES": str(1 << 22)}
TOKENS = {"reader": ["read"], "writer": ["read", "write"], "chief": ["read", "write", "admin"]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("checks")
    with ServerProcess(directory / "data", directory / "log", environment=SETTINGS) as running:
        yield running


@pytest.fixture
def acklog(server: ServerProcess) -> Acklog:
    def run(*arguments: str, **options: object) -> CommandRun:
        environment = {"ACKLOG_URL": server.base_url}
        return run_command(*arguments, environment=environment, **options)  # type: ignore[arg-type]

    return run


def checks(run: CommandRun) -> dict[str, dict[str, Any]]:
    return {check["check"]: check for check in run.document["checks"]}


class TestDoctor:
    def test_of_a_healthy_server(self, acklog: Acklog, server: ServerProcess) -> None:
        server.send("orders", 1)
        run = acklog("doctor", "--json", "--data-dir", str(server.data_directory))
        assert run.exit_code == 0, run.stdout
        assert run.document["isHealthy"] is True
        found = checks(run)
        expected = {"reachable", "ready", "token", "version", "clock", "disk", "limits", "refusals", "topics", "groups"}
        assert {"redrives", "schedules", "compaction"} <= set(found)
        assert expected | {"dead letters", "python", "open files", "file system", "room", "sync"} <= set(found)
        assert found["token"]["finding"] == "anybody may read, write, admin"
        assert found["clock"]["outcome"] == "ok"
        assert "both sides" in found["version"]["finding"]
        assert found["limits"]["outcome"] == "ok"
        assert "free" in found["disk"]["finding"]
        assert [path.name for path in server.data_directory.iterdir() if "doctor" in path.name] == []

    def test_as_text(self, acklog: Acklog) -> None:
        run = acklog("doctor")
        assert run.exit_code == 0
        lines = run.stdout.splitlines()
        assert lines[0].split() == ["CHECK", "FINDING"]
        assert lines[1].split()[:2] == ["ok", "reachable"]
        assert run.stderr == ""
        on_a_terminal = acklog("doctor", is_terminal=True)
        assert "\x1b[" in on_a_terminal.stdout

    def test_nothing_is_stored(self, acklog: Acklog, server: ServerProcess) -> None:
        server.send("orders", 1)
        before = server.request("GET", "/topics/orders").document["partitionStates"]
        groups = server.request("GET", "/groups").document
        acklog("doctor")
        assert server.request("GET", "/topics/orders").document["partitionStates"] == before
        assert server.request("GET", "/groups").document == groups

    def test_messages_that_nobody_takes(self, acklog: Acklog, server: ServerProcess) -> None:
        for number in range(4):
            server.send("waiting", number, partition=0)
        server.ack(*[message["receipt"] for message in server.receive("waiting", "sleepers", max=1)])
        pauses: list[float] = []
        run = acklog("doctor", "--json", surroundings={"pause": pauses.append})
        assert run.exit_code == 0, "a warning breaks nothing"
        assert checks(run)["groups"]["outcome"] == "warn"
        assert "sleepers in waiting (3)" in checks(run)["groups"]["finding"]
        assert pauses == [1.0], "only after a second look"

    def test_work_in_the_background(self, acklog: Acklog, server: ServerProcess) -> None:
        server.request("PUT", "/topics/people", {"config": {"cleanupPolicy": "compact"}})
        server.request("POST", "/messages", {"queue": "orders", "body": 1, "delaySeconds": 3600})
        server.send("orphans", 1, partition=0)  # nobody knows where it came from
        server.request("PUT", "/groups/senders", {})
        job = server.request("POST", "/groups/senders/redrive", {"topic": "orphans"}).document
        look = f"/groups/senders/redrive/{job['jobId']}"
        wait_until(lambda: server.request("GET", look).document["state"] == "done", seconds=60, what="the job's end")
        run = acklog("doctor", "--json", surroundings={"pause": lambda _s: None})
        found = checks(run)
        assert found["redrives"]["outcome"] == "warn"
        assert f"senders of orphans, {job['jobId']} (1)" in found["redrives"]["finding"]
        assert (found["schedules"]["outcome"], found["schedules"]["finding"][:9]) == ("ok", "none late")
        assert found["compaction"]["finding"] == "1 compacted topic, none far behind"

    def test_dead_letters(self, acklog: Acklog, server: ServerProcess) -> None:
        server.request("PUT", "/groups/fragile", {"settings": {"maxAttempts": 1}})
        server.request("PUT", "/topics/breakable.fragile.dlq")
        server.send("breakable", 1)
        (message,) = server.receive("breakable", "fragile")
        server.request("POST", "/nack", {"receipt": message["receipt"], "delaySeconds": 0})
        assert server.receive("breakable.fragile.dlq", "look", waitSeconds=10, max=1)
        run = acklog("doctor", surroundings={"pause": lambda _s: None})
        assert run.exit_code == 0
        assert "breakable.fragile.dlq (1)" in run.stdout
        assert "acklog dlq show breakable.fragile.dlq" in run.stdout
        found = checks(acklog("doctor", "--json", surroundings={"pause": lambda _s: None}))
        assert "letters expiring" not in found, "they are kept for a week"
        growing = found["letters growing"]
        assert growing["finding"] == "new within the last hour: breakable.fragile.dlq (1)"
        shorter = {"config": {"retentionMs": 2 * 3_600_000}}
        assert server.request("PATCH", "/topics/breakable.fragile.dlq?allowDataLoss=true", shorter).status == 200
        found = checks(acklog("doctor", "--json", surroundings={"pause": lambda _s: None}))
        assert "breakable.fragile.dlq (in 1 h" in found["letters expiring"]["finding"]
        assert "--retention 30d" in found["letters expiring"]["advice"]

    def test_of_a_server_that_is_away(self, tmp_path: Path) -> None:
        run = run_command("doctor", "--timeout", "1", "--json", environment={"ACKLOG_URL": "http://127.0.0.1:9"})
        assert run.exit_code == 1
        found = checks(run)
        assert found["reachable"]["outcome"] == "fail"
        assert "Is the server running?" in found["reachable"]["advice"]
        assert found["server"]["outcome"] == "skipped"
        assert "python" in found, "this machine is looked at all the same"

    def test_of_damaged_files(self, tmp_path: Path) -> None:
        with ServerProcess(tmp_path / "data", tmp_path / "log", environment=SETTINGS) as server:
            server.request("PUT", "/topics/orders", {"partitions": 1})
            server.send("orders", 1)
            server.ack(*[message["receipt"] for message in server.receive("orders")])
            server.stop()
            (snapshot,) = server.data_directory.glob("partitions/*/delivery/snapshot")
            content = bytearray(snapshot.read_bytes())
            content[-1] ^= 1
            snapshot.write_bytes(content)
            server.launch()
            server.wait_until_listening()
            run = run_command("doctor", "--json", environment={"ACKLOG_URL": server.base_url})
        assert run.exit_code == 1
        found = checks(run)
        assert found["disk"]["finding"] == "1 partition refused for damaged files"
        assert found["topics"]["outcome"] == "fail"
        assert "orders 0 (RECORDS_CORRUPT)" in found["topics"]["finding"]
        assert "acklog fsck" in found["topics"]["advice"]

    def test_tokens(self, tmp_path: Path) -> None:
        entries = [
            {"name": name, "sha256": hashlib.sha256(secret(name).encode()).hexdigest(), "scopes": scopes}
            for name, scopes in TOKENS.items()
        ]
        tokens = tmp_path / "tokens.json"
        tokens.write_text(json.dumps({"tokens": entries}))
        options = ("--tokens-file", str(tokens))
        with ServerProcess(tmp_path / "data", tmp_path / "log", options=options, environment=SETTINGS) as server:
            header = {"Authorization": f"Bearer {secret('chief')}"}
            server.request("PUT", "/topics/orders", headers=header)
            said = {}
            for name in (*TOKENS, "stranger"):
                environment = {"ACKLOG_URL": server.base_url, "ACKLOG_TOKEN": secret(name)}
                said[name] = checks(run_command("doctor", "--json", environment=environment))["token"]
            states = server.request("GET", "/topics/orders", headers=header).document["partitionStates"]
        assert said["reader"]["finding"] == "the token may read; not write, admin"
        assert said["writer"]["finding"] == "the token may read, write; not admin"
        assert said["chief"]["finding"] == "the token may read, write, admin"
        assert said["stranger"]["outcome"] == "fail"
        assert "--token" in said["stranger"]["advice"]
        assert all(state["highWatermark"] == 0 for state in states)

    def test_bad_input(self, acklog: Acklog) -> None:
        refused = acklog("doctor", "--data-directory", "x")
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "--data-dir" in refused.stderr
        missing = acklog("doctor", "--data-dir", "no/such/directory", "--json")
        assert missing.exit_code == 1
        assert checks(missing)["data directory"]["outcome"] == "fail"

    def test_a_reader_that_is_gone(self, acklog: Acklog) -> None:
        ended = acklog("doctor", is_reader_gone=True, surroundings={"pause": lambda _s: None})
        assert (ended.exit_code, ended.stderr) == (141, "")


def secret(name: str) -> str:
    return f"a-secret-of-{name}-that-is-long"


def bench_topics(server: ServerProcess) -> list[str]:
    topics = server.request("GET", "/topics").document["topics"]
    groups = server.request("GET", "/groups").document["groups"]
    return [each["name"] for each in (*topics, *groups) if each["name"].startswith("acklog-bench")]


class TestBench:
    def test_as_text(self, acklog: Acklog, server: ServerProcess) -> None:
        run = acklog("bench", "--seconds", "0.6", "--workers", "4")
        assert (run.exit_code, run.stderr) == (0, "")
        lines = run.stdout.splitlines()
        assert lines[0].split() == [
            *[
                "WHAT",
                "MESSAGES/S",
                "MESSAGES",
                "REQUESTS",
                "P50",
                "MS",
                "P95",
                "MS",
                "P99",
                "MS",
                "MAX",
                "MS",
                "ERRORS",
            ]
        ]
        assert [line.split("  ")[0] for line in lines[1:4]] == [
            "send one by one",
            "send batches of 100",
            "receive and ack",
        ]
        assert bench_topics(server) == []

    def test_as_json(self, acklog: Acklog, server: ServerProcess) -> None:
        run = acklog("bench", "--seconds", "0.6", "--workers", "2", "--batch", "10", "--size", "50", "--json")
        assert run.exit_code == 0
        document = run.document
        assert (document["workers"], document["sizeBytes"], document["batch"]) == (2, 50, 10)
        singles, batches, deliveries = document["phases"]
        assert singles["messages"] == singles["requests"] > 0
        assert batches["messages"] == 10 * batches["requests"] > 0
        assert 0 < deliveries["messages"] <= singles["messages"] + batches["messages"]
        for phase in document["phases"]:
            latency = phase["latencyMs"]
            assert 0 < latency["p50"] <= latency["p95"] <= latency["p99"] <= latency["max"]
            assert phase["errors"] == 0
        assert bench_topics(server) == []

    def test_the_size_is_that_of_a_body(self, acklog: Acklog, server: ServerProcess) -> None:
        from acklog.command.measurement import BenchPlan, Measurement

        plan = BenchPlan("t", "g", 1.0, 1, 50, 3)
        messages = Measurement(None, plan, advanced=lambda _count: None)._messages()  # type: ignore[arg-type]
        assert [len(json.dumps(message.body)) for message in messages] == [50, 50, 50]

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--seconds", "0"], "0.0 is below 0.3"),
            (["--seconds", "9999"], "9999.0 is above 600"),
            (["--workers", "0"], "0 is below 1"),
            (["--size", "1"], "1 is below 2"),
            (["--batch", "10000", "--size", "10000"], "larger than a request may be"),
            (["--batch", "many"], "'many' is not a whole number"),
        ],
    )
    def test_bad_input(self, acklog: Acklog, server: ServerProcess, options: list[str], said: str) -> None:
        refused = acklog("bench", *options)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert said in refused.stderr
        assert bench_topics(server) == []

    def test_of_a_server_that_is_away(self) -> None:
        away = run_command("bench", "--timeout", "1", environment={"ACKLOG_URL": "http://127.0.0.1:9"})
        assert (away.exit_code, away.stdout) == (3, "")

    def test_a_reader_that_is_gone(self, acklog: Acklog, server: ServerProcess) -> None:
        ended = acklog("bench", "--seconds", "0.3", "--workers", "1", is_reader_gone=True)
        assert (ended.exit_code, ended.stderr) == (141, "")
        assert bench_topics(server) == []

    def test_an_interruption_leaves_nothing_behind(self, server: ServerProcess) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "acklog.command", "bench", "--seconds", "300", "--server", server.base_url],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if not name.startswith("ACKLOG_")},
        )
        wait_until(lambda: len(bench_topics(server)) == 2, seconds=60, what="the bench's topic and group")
        process.send_signal(signal.SIGINT)
        output, complaints = process.communicate(timeout=60)
        assert (process.returncode, output, complaints) == (130, b"", b"")
        assert bench_topics(server) == []
