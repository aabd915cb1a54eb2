"""Where the etcd program is: an installed one, or else Debian's package, unpacked and not installed.

Unpacking needs no root, and starts no service on the machine. apt checks where the package comes from.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

PROGRAM = "etcd"
PACKAGE = "etcd-server"
PATIENCE_S = 240


class EtcdMissingError(Exception):
    """There is no etcd, and none can be had; the text says why."""


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Where a fetched etcd is kept between runs."""
    base = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "acklog" / "etcd"


def find_etcd(cache: Path, *, named: str | None = None, tell: Callable[[str], None] = lambda text: None) -> Path:
    """The program that is named, one on the path, or one unpacked into `cache`. Raises EtcdMissingError."""
    if named is not None:
        if not Path(named).is_file():
            raise EtcdMissingError(f"there is no program {named}")
        return Path(named)
    installed = shutil.which(PROGRAM)
    if installed is not None:
        return Path(installed)
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _unpacked(cache, tell)


def _unpacked(cache: Path, tell: Callable[[str], None]) -> Path:
    binary = cache / "unpacked" / "usr" / "bin" / PROGRAM
    if binary.exists():
        return binary
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise EtcdMissingError(f"etcd is not installed, and {program} is not here to fetch {PACKAGE}")
    tell(f"etcd is not installed: fetching the package {PACKAGE}, to unpack it in {cache}")
    failure = _download(cache)
    if failure and os.geteuid() == 0:
        _run("apt-get", "update", "-qq", directory=cache)
        failure = _download(cache)
    if failure:
        raise EtcdMissingError(f"etcd is not installed, and cannot be fetched: apt-get: {failure}")
    [package] = cache.glob(f"{PACKAGE}_*.deb")
    partial = cache / "partial"
    shutil.rmtree(partial, ignore_errors=True)
    failure = _run("dpkg-deb", "--extract", package.name, partial.name, directory=cache)
    if failure:
        raise EtcdMissingError(f"the package {PACKAGE} cannot be unpacked: {failure}")
    partial.rename(cache / "unpacked")
    package.unlink()
    return binary


def _download(cache: Path) -> str:
    for package in cache.glob("*.deb"):
        package.unlink()
    return _run("apt-get", "download", "-qq", PACKAGE, directory=cache)


def _run(*command: str, directory: Path) -> str:
    """What it complained of; empty when it succeeded."""
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"
