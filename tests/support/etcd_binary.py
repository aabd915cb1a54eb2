"""Where the etcd server is that tests start: an installed one, or else Debian's package, unpacked and not installed.

Unpacking needs no root, and starts no service on the machine. The package is kept in pytest's cache directory.
"""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGE = "etcd-server"
VARIABLE = "TESTS_ETCD"
_PATIENCE_S = 240


def etcd_binary(config: pytest.Config) -> Path:
    """The program that the variable names, one on the path, or one that is unpacked into pytest's cache. Skips where
    there is none and none can be had; the reason is in the report."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        assert Path(named).is_file(), f"{VARIABLE} names {named}, which does not exist"
        return Path(named)
    installed = shutil.which("etcd")
    if installed is not None:
        return Path(installed)
    pytest_cache = getattr(config, "cache", None)
    if pytest_cache is None:
        pytest.skip(f"no etcd: install it, or name it in {VARIABLE} (without pytest's cache none is fetched)")
    cache: Path = pytest_cache.mkdir("etcd")
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _unpacked(cache)


def _unpacked(cache: Path) -> Path:
    binary = cache / "unpacked" / "usr" / "bin" / "etcd"
    if binary.exists():
        return binary
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            pytest.skip(f"no etcd: install it, or name it in {VARIABLE} ({program} is not here to fetch {PACKAGE})")
    failure = _download(cache)
    if failure and os.geteuid() == 0:
        _run("apt-get", "update", "-qq", directory=cache)
        failure = _download(cache)
    if failure:
        pytest.skip(f"no etcd: install it, or name it in {VARIABLE} (apt-get: {failure})")
    [package] = cache.glob(f"{PACKAGE}_*.deb")
    partial = cache / "partial"
    shutil.rmtree(partial, ignore_errors=True)
    failure = _run("dpkg-deb", "--extract", package.name, partial.name, directory=cache)
    assert not failure, failure
    partial.rename(cache / "unpacked")
    package.unlink()
    return binary


def _download(cache: Path) -> str:
    for package in cache.glob("*.deb"):
        package.unlink()
    return _run("apt-get", "download", "-qq", PACKAGE, directory=cache)


def _run(*command: str, directory: Path) -> str:
    """What it complained of; empty when it succeeded."""
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"
