"""`acklog cluster demo` as it is run: everything is killed once, and every promise holds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.server_process import REPOSITORY

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.xdist_group("cluster"),
    pytest.mark.timeout(600),
]

VICTIMS = ("a leader", "the controller", "a gateway", "etcd's leader")
WAITED_SECONDS_MAX = 5.0  # with an empty machine it is well below one


def test_every_promise_holds_while_everything_is_killed_once(tmp_path: Path, etcd_program: Path) -> None:
    options = ["--messages", "12000", "--rate", "600", "--etcd-program", str(etcd_program), "--keep", "--json"]
    process = subprocess.run(
        [sys.executable, "-m", "acklog.command", "cluster", "demo", *options],
        cwd=REPOSITORY,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    document = json.loads(process.stdout)
    assert document["isOk"] is True
    assert len(document["checks"]) == 14
    assert all(check["isOk"] and check["examined"] for check in document["checks"])
    for kill, victim in zip(document["kills"], VICTIMS, strict=True):
        assert f", {victim} (" in kill["victim"]
        assert kill["waitedSeconds"] < WAITED_SECONDS_MAX, kill
    [directory] = tmp_path.glob("acklog-demo-*")
    for number in (1, 2, 3):
        check = subprocess.run(
            [sys.executable, "-m", "acklog.command", "fsck", str(directory / f"node-{number}")],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
        )
        assert check.returncode == 0, check.stdout + check.stderr
