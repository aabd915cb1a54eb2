"""A PostgreSQL of a test's own, where its programs are installed: in a directory that is removed, behind a socket in
it, with no port."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.waiting import wait_until

START_SECONDS = 60
_USER = "postgres"


def find_postgres() -> Path | None:
    """The directory of the newest installed server's programs."""
    named = shutil.which("postgres")
    if named is not None:
        return Path(named).resolve().parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: float(path.parts[-3]))
    return found[-1].parent if found else None


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of its database. Skips where no PostgreSQL is installed, or none can be started by this user."""
    programs = find_postgres()
    if programs is None:
        pytest.skip("no PostgreSQL is installed")
    owner = _owner()
    directory = Path(tempfile.mkdtemp(prefix="acklog-postgres-"))
    try:
        if owner is not None:
            os.chown(directory, owner.pw_uid, owner.pw_gid)
        yield from _served(programs, directory, None if owner is None else owner.pw_name)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _owner() -> pwd.struct_passwd | None:
    """Whose process it has to be: it refuses to be root's. None: this user's."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(_USER)
    except KeyError:
        pytest.skip(f"PostgreSQL does not run as root, and there is no user {_USER}")


def _served(programs: Path, directory: Path, user: str | None) -> Iterator[str]:
    data, log_path = directory / "data", directory / "log"
    made = subprocess.run(
        [programs / "initdb", "--pgdata", data, "--username", _USER, "--auth", "trust", "--no-sync"],
        cwd=directory,
        user=user,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    with log_path.open("wb") as log:
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, "-k", directory, "-c", "listen_addresses="],
            cwd=directory,
            user=user,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:

        def is_ready() -> bool:
            assert server.poll() is None, log_path.read_text()
            return b"ready to accept connections" in log_path.read_bytes()

        wait_until(is_ready, seconds=START_SECONDS, what="PostgreSQL")
        yield f"postgresql:///{_USER}?user={_USER}&host={directory}"
    finally:
        server.send_signal(signal.SIGINT)  # what is connected is cut off
        server.wait(START_SECONDS)
