"""What a doctor looks at on this machine: Python, limits, and a data directory's disk."""

import os
import platform
import resource
import shutil
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from acklog.command.checkup import Check, fail, ok, skipped, warn
from acklog.command.quantities import size_text

PYTHON_MIN = (3, 11)
OPEN_FILES_WARN = 4096
DISK_FREE_WARN_BYTES = 1 << 30
SYNCS = 30
SYNC_BYTES = 4096
SYNC_WARN_MS, SYNC_FAIL_MS = 10.0, 100.0
MOUNTS_PATH = Path("/proc/self/mountinfo")
_OPTIMISED, _DISTRIBUTION_PREFIX = "--enable-optimizations", "/usr"
_REMOTE = {"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "fuse.sshfs", "afs"}
_VOLATILE = {"tmpfs", "ramfs"}
_LAYERED = {"overlay", "aufs"}


def machine_checks(data_dir: str) -> Iterator[Check]:
    """`data_dir` may be "" for none."""
    yield python_check(sys.version_info[:3], sysconfig.get_config_var("CONFIG_ARGS") or "", sys.base_prefix)
    yield _open_files()
    if data_dir:
        yield from data_directory_checks(Path(data_dir))


def data_directory_checks(path: Path) -> Iterator[Check]:
    """The file system, the room, and how long a sync takes there: a temporary file is written and removed."""
    if not path.is_dir():
        yield fail("data directory", f"{path} is not a directory", "Name what the server gets as --data-dir.")
        return
    yield file_system_check(_file_system_of(path))
    free_bytes = shutil.disk_usage(path).free
    if free_bytes < DISK_FREE_WARN_BYTES:
        yield warn("room", f"{size_text(free_bytes)} free", "Free some space, or let retention be shorter.")
    else:
        yield ok("room", f"{size_text(free_bytes)} free")
    try:
        durations_ms = sync_durations_ms(path)
    except OSError as error:
        yield skipped("sync", f"cannot write there: {error.strerror or error}")
    else:
        yield sync_check(durations_ms)


def python_check(version: Sequence[int], configured_with: str, prefix: str) -> Check:
    """A distribution's Python is built with profiles, whatever its configuration says of that."""
    text = f"{platform.python_implementation()} {'.'.join(map(str, version))}"
    if tuple(version[:2]) < PYTHON_MIN:
        return fail("python", text, f"Acklog needs Python {'.'.join(map(str, PYTHON_MIN))} or newer.")
    if configured_with and _OPTIMISED not in configured_with and prefix != _DISTRIBUTION_PREFIX:
        advice = f"A server is a fifth faster by one of a distribution, or built with {_OPTIMISED} --with-lto."
        return warn("python", f"{text}, built without optimisations", advice)
    return ok("python", text)


def _open_files() -> Check:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    finding = f"{'unlimited' if soft == resource.RLIM_INFINITY else format(soft, ',')} open files"
    if soft != resource.RLIM_INFINITY and soft < OPEN_FILES_WARN:
        more = "" if hard == resource.RLIM_INFINITY or hard > soft else " (as root)"
        advice = (
            f"A server here would refuse connections beyond that: ulimit -n 65536{more}, or LimitNOFILE= in systemd."
        )
        return warn("open files", finding, advice)
    return ok("open files", finding)


def _file_system_of(path: Path) -> str:
    """Its type, "" where that cannot be told."""
    try:
        return file_system_type(path.resolve(), MOUNTS_PATH.read_text())
    except OSError:
        return ""


def file_system_type(path: Path, mounts: str) -> str:
    """The type of the file system that holds `path`, from the text of /proc/self/mountinfo; "" if none does."""
    best, kind = -1, ""
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        columns = fields.split()
        if len(columns) < 5 or not rest:
            continue
        mount = Path(columns[4].encode().decode("unicode_escape"))
        if len(mount.parts) >= best and path.is_relative_to(mount):
            best, kind = len(mount.parts), rest.split()[0]
    return kind


def file_system_check(kind: str) -> Check:
    """What the type of the file system means for a log."""
    if not kind:
        return skipped("file system", "this system does not say which one it is")
    if kind in _VOLATILE:
        advice = "Everything is gone at the next boot. Take a directory on a disk."
        return fail("file system", f"{kind}, in memory", advice)
    if kind in _REMOTE or kind.startswith("fuse."):
        advice = "A sync there may not mean what it says, and locks may not hold. Take a local disk."
        return warn("file system", f"{kind}, over a network", advice)
    if kind in _LAYERED:
        advice = "It belongs to a container and goes with it. Mount a volume for the data directory."
        return warn("file system", f"{kind}, a container's own", advice)
    return ok("file system", kind)


def sync_durations_ms(directory: Path) -> list[float]:
    """How long it takes to write a block over a preallocated file and sync it, as the journal does. Raises OSError."""
    durations_ms = []
    number, name = tempfile.mkstemp(prefix="acklog-doctor-", suffix=".tmp", dir=directory)
    try:
        block = b"\xa5" * SYNC_BYTES
        os.pwrite(number, bytes(SYNC_BYTES * SYNCS), 0)
        os.fsync(number)
        for index in range(SYNCS):
            os.pwrite(number, block, index * SYNC_BYTES)
            started = time.perf_counter()
            os.fdatasync(number)
            durations_ms.append((time.perf_counter() - started) * 1000)
    finally:
        os.close(number)
        os.unlink(name)
    return durations_ms


def sync_check(durations_ms: Sequence[float]) -> Check:
    """A send waits for at least one sync."""
    ordered = sorted(durations_ms)
    median_ms, worst_ms = ordered[len(ordered) // 2], ordered[-1]
    finding = f"a sync takes {median_ms:.2f} ms, {worst_ms:.2f} ms at worst"
    advice = "Every send waits for a sync: take a faster disk (SSD, NVMe), not one that is shared."
    if median_ms > SYNC_FAIL_MS:
        return fail("sync", finding, advice)
    if median_ms > SYNC_WARN_MS:
        return warn("sync", finding, advice)
    return ok("sync", finding)
