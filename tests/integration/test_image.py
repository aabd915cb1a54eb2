"""What the image does, as far as it can be seen without a container: its steps by pip, and its server as the first
process of a namespace whose file system can only be read, but for the data directory."""

import fnmatch
import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sysconfig
from pathlib import Path

import pytest
from dockerfile_parse import DockerfileParser

from tests.support.lasting_ports import lasting_ports
from tests.support.server_process import REPOSITORY
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

SECONDS = 60
NAMESPACE = ("unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc")
# A bind mount keeps being written to when all else is mounted again to be read.
READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind / && shift && cd "$PWD" && exec "$@"'


def instructions() -> list[tuple[str, str]]:
    parser = DockerfileParser(fileobj=io.BytesIO((REPOSITORY / "Dockerfile").read_bytes()))
    return [(each["instruction"], each["value"]) for each in parser.structure]


def test_what_is_copied_is_enough_to_install(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "installed"
    source.mkdir()
    for value in (value for instruction, value in instructions() if instruction == "COPY" and "--from" not in value):
        for name in value.split()[:-1]:
            if (REPOSITORY / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
                shutil.copytree(REPOSITORY / name, source / name, ignore=ignored)
            else:
                shutil.copy(REPOSITORY / name, source / name)
    [step] = [value for instruction, value in instructions() if instruction == "RUN" and "uv pip install" in value]
    words = shlex.split(step.partition("uv pip install ")[2].partition("&&")[0])
    of_the_image = {"--no-cache", "--python", "/opt/acklog"}
    wanted = [word for word in words if word not in of_the_image]
    uv = Path(sysconfig.get_path("scripts")) / "uv"
    # What they depend on is installed by the test of the distributions: here it is what the image copies.
    command = [uv, "pip", "install", "--quiet", "--no-deps", "--target", target, *wanted]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    found = {path.name for path in target.iterdir()}
    assert {"acklog", "acklog_server"} <= found
    assert fnmatch.filter(found, "acklog_server-*.dist-info")
    assert (target / "acklog_server/_packages/app/commands/health.py").exists()


def may_make_namespaces() -> bool:
    command = [*NAMESPACE, "sh", "-c", "mount -o remount,ro,bind /"]
    try:
        return subprocess.run(command, capture_output=True, timeout=30, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.root
def test_the_server_serves_where_only_its_data_directory_can_be_written(tmp_path: Path) -> None:
    if not may_make_namespaces():
        pytest.skip("needs the right to make namespaces and to mount")
    said = dict(instructions())
    entrypoint, check = json.loads(said["ENTRYPOINT"]), json.loads(said["HEALTHCHECK"].partition(" CMD ")[2])
    [port] = lasting_ports(1)
    data, log = tmp_path / "data", tmp_path / "log"
    data.mkdir()
    scripts = sysconfig.get_path("scripts")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ACKLOG_")}
    environment = {
        **inherited,
        "PATH": f"{scripts}:{os.environ['PATH']}",
        "ACKLOG_PORT": str(port),
        "TMPDIR": str(data),
    }
    command = [*NAMESPACE, "sh", "-c", READ_ONLY, "sh", str(data), *entrypoint, "serve", "--data-dir", str(data)]
    with log.open("wb") as output:
        container = subprocess.Popen(command, cwd=data, env=environment, stdout=output, stderr=output)
    try:
        first = wait_until(lambda: _child_of(container.pid), seconds=SECONDS, what="the first process")
        enter = ["nsenter", "--target", str(first), "--pid", "--mount"]

        def is_healthy() -> bool:
            assert container.poll() is None, log.read_text()
            done = subprocess.run(
                [*enter, *check], env=environment, cwd=data, capture_output=True, timeout=60, check=False
            )
            return done.returncode == 0

        wait_until(lambda: "listens on" in log.read_text(), seconds=SECONDS, what="a server")
        wait_until(is_healthy, seconds=SECONDS, what="acklog health says that it serves")
        refused = subprocess.run([*enter, "touch", str(tmp_path / "elsewhere")], capture_output=True, check=False)
        assert b"Read-only file system" in refused.stderr
        os.kill(first, signal.SIGTERM)
        assert container.wait(timeout=SECONDS) == 0, log.read_text()
    finally:
        container.kill()
        container.wait()
    assert "Traceback" not in log.read_text()


def _child_of(parent: int) -> int | None:
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return int(found[0]) if found else None
