"""The clients of SQS that `make sqs-clients` has made, as programs that a test can run against a server."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.server_process import REPOSITORY

BUILT = REPOSITORY / "build/sqs-clients"
SOURCES = REPOSITORY / "tests/integration/sqs/clients"
SECONDS = 240


def python_of(environment: str) -> Path:
    """Skips the test where it was not made."""
    return _built(f"{environment}/bin/python")


def node_command() -> list[str]:
    return ["node", str(_built("javascript/made/client.mjs"))]


def go_command() -> list[str]:
    return [str(_built("go/client"))]


def java_command() -> list[str]:
    made = _built("java/made/target").parent
    return ["java", "-cp", f"{made}/target/classes:{made}/target/dependency/*", "acklog.Client"]


def credentials(url: str, **more: str) -> dict[str, str]:
    """The environment of a client of that server: nothing of AWS that this machine may have."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "AWS_ENDPOINT_URL": url,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLEOFACKLOG00",
        "AWS_SECRET_ACCESS_KEY": "a-secret-of-a-server-without-tokens",
        "AWS_EC2_METADATA_DISABLED": "true",
        **more,
    }


def run_client(command: list[str], environment: Mapping[str, str]) -> str:
    """What it printed. Fails the test where it does not end well."""
    done = subprocess.run(
        command, env=dict(environment), cwd=SOURCES, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def _built(path: str) -> Path:
    found = BUILT / path
    if not found.exists():
        pytest.skip(f"{path} is not there: make sqs-clients makes it")
    return found
