"""What services use for SQS, unchanged but for the endpoint, against one server. `make sqs-clients` makes the clients;
what is not there is skipped."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server_process import REPOSITORY, ServerProcess
from tests.support.sqs_clients import (
    SOURCES,
    credentials,
    go_command,
    java_command,
    node_command,
    python_of,
    run_client,
)
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("sqs_clients")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("sqs")
    with ServerProcess(directory / "data", directory / "server.log") as server:
        yield server


def test_boto3(server: ServerProcess) -> None:
    run_client([str(python_of("python")), "boto3_job.py"], credentials(server.base_url))


def test_boto3_by_the_query_protocol(server: ServerProcess) -> None:
    # This one knows of no variable that names an endpoint.
    run_client([str(python_of("earlier_python")), "boto3_job.py", server.base_url], credentials(server.base_url))


def test_aiobotocore(server: ServerProcess) -> None:
    run_client([str(python_of("python")), "aiobotocore_job.py"], credentials(server.base_url))


def test_javascript(server: ServerProcess) -> None:
    run_client(node_command(), credentials(server.base_url))


def test_go(server: ServerProcess) -> None:
    run_client(go_command(), credentials(server.base_url))


def test_java(server: ServerProcess) -> None:
    run_client(java_command(), credentials(server.base_url))


def test_the_command_line_of_aws(server: ServerProcess) -> None:
    python = python_of("command_line")
    environment = credentials(server.base_url)
    # Version 1 knows of no variable that names an endpoint.
    command = [str(python), str(python.parent / "aws"), "--endpoint-url", server.base_url, "sqs"]

    def aws(*arguments: str) -> dict[str, str]:
        text = run_client([*command, *arguments, "--output", "json"], environment)
        return dict(json.loads(text)) if text.strip() else {}

    url = aws("create-queue", "--queue-name", "by-command")["QueueUrl"]
    aws("send-message", "--queue-url", url, "--message-body", "hello")
    [message] = aws("receive-message", "--queue-url", url, "--wait-time-seconds", "10")["Messages"]
    assert message["Body"] == "hello"
    aws("delete-message", "--queue-url", url, "--receipt-handle", message["ReceiptHandle"])
    attributes = aws("get-queue-attributes", "--queue-url", url, "--attribute-names", "All")["Attributes"]
    assert attributes["ApproximateNumberOfMessages"] == "0"
    aws("delete-queue", "--queue-url", url)
    refused = subprocess.run(
        [*command, "get-queue-url", "--queue-name", "by-command"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "AWS.SimpleQueueService.NonExistentQueue" in refused.stderr


def _broker_of(server: ServerProcess) -> str:
    return f"sqs://AKIDEXAMPLE:secret@{server.base_url.removeprefix('http://')}/"


def test_kombu(server: ServerProcess) -> None:
    environment = credentials(server.base_url, SQS_URL=_broker_of(server))
    run_client([str(python_of("python")), "kombu_job.py"], environment)


def test_celery_workers(server: ServerProcess, tmp_path: Path) -> None:
    """Retries, a task for later, acknowledgements behind the work, and a worker that is killed within a task."""
    python = python_of("python")
    ledger = tmp_path / "ledger"
    environment = credentials(
        server.base_url, SQS_URL=_broker_of(server), SQS_QUEUE="celery-orders", LEDGER=str(ledger), HOME=str(tmp_path)
    )
    command = [str(python), "-m", "celery", "-A", "celery_tasks", "worker", "--pool", "prefork", "--concurrency", "2"]

    def worker(log: Path) -> subprocess.Popen[bytes]:
        with log.open("wb") as output:
            return subprocess.Popen(
                command, cwd=SOURCES, env=environment, stdout=output, stderr=output, start_new_session=True
            )

    def lines() -> list[str]:
        return ledger.read_text().splitlines() if ledger.exists() else []

    run_client([str(python), "celery_send.py"], environment)
    first = worker(tmp_path / "first.log")
    try:
        wait_until(lambda: "begin slow" in lines(), seconds=120, what="the long task's begin")
        wait_until(lambda: "flaky 2" in lines(), seconds=120, what="the last retry")
    finally:
        Path(f"{ledger}.killed").touch()
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    second = worker(tmp_path / "second.log")
    try:
        wait_until(lambda: "end slow" in lines(), seconds=120, what="the long task's end, by another worker")
        wait_until(
            lambda: {f"add {number}" for number in range(20)} <= set(lines()), seconds=120, what="all plain tasks"
        )
        wait_until(lambda: any(line.startswith("later") for line in lines()), seconds=120, what="the task for later")
    finally:
        os.killpg(second.pid, signal.SIGKILL)
        second.wait()
    assert lines().count("begin slow") == 2
    [later_s] = [float(line.split()[1]) for line in lines() if line.startswith("later")]
    assert later_s >= 3


def test_the_example_runs_as_it_is(server: ServerProcess) -> None:
    printed = run_client(
        [str(python_of("python")), str(REPOSITORY / "examples/sqs_unchanged/orders.py")], credentials(server.base_url)
    )
    assert printed.splitlines() == [
        "41 orders are booked, 9 are dead letters",
        "50 orders are booked, 0 are dead letters",
    ]
