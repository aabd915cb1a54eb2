"""What the doctor says of the machine that it runs on."""

from pathlib import Path

import pytest

from acklog.command import machine_checks
from acklog.command.checkup import CheckOutcome
from acklog.command.machine_checks import (
    data_directory_checks,
    file_system_check,
    file_system_type,
    python_check,
    sync_check,
    sync_durations_ms,
)

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:5 / /proc rw shared:2 - proc proc rw
30 22 8:2 / /srv rw shared:3 - xfs /dev/sdb1 rw
31 30 0:50 / /srv/with\\040space rw - nfs4 host:/x rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/var/lib", "ext4"), ("/srv", "xfs"), ("/srv/data", "xfs"), ("/srvx", "ext4"), ("/srv/with space/d", "nfs4")],
)
def test_the_file_system_is_that_of_the_nearest_mount(path: str, kind: str) -> None:
    assert file_system_type(Path(path), MOUNTS) == kind


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("ext4", CheckOutcome.OK),
        ("xfs", CheckOutcome.OK),
        ("nfs4", CheckOutcome.WARN),
        ("fuse.sshfs", CheckOutcome.WARN),
        ("overlay", CheckOutcome.WARN),
        ("tmpfs", CheckOutcome.FAIL),
        ("", CheckOutcome.SKIPPED),
    ],
)
def test_what_a_file_system_means(kind: str, outcome: CheckOutcome) -> None:
    assert file_system_check(kind).outcome is outcome


@pytest.mark.parametrize(
    ("median_ms", "outcome"), [(0.3, CheckOutcome.OK), (11, CheckOutcome.WARN), (150, CheckOutcome.FAIL)]
)
def test_slow_syncs(median_ms: float, outcome: CheckOutcome) -> None:
    assert sync_check([median_ms, median_ms, 1000]).outcome is outcome


def test_a_measurement_leaves_nothing_behind(tmp_path: Path) -> None:
    assert len(sync_durations_ms(tmp_path)) == machine_checks.SYNCS
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path) -> list[float]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(machine_checks, "sync_durations_ms", refuse)
    found = {check.name: check for check in data_directory_checks(tmp_path)}
    assert found["sync"].outcome is CheckOutcome.SKIPPED
    assert "Permission denied" in found["sync"].finding


def test_few_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_checks.resource, "getrlimit", lambda _what: (256, 4096))
    check = machine_checks._open_files()
    assert check.outcome is CheckOutcome.WARN
    assert "ulimit -n" in check.advice


@pytest.mark.parametrize(
    ("version", "configured_with", "prefix", "outcome"),
    [
        ((3, 10, 1), "'--enable-optimizations'", "/usr", CheckOutcome.FAIL),
        ((3, 11, 7), "'--enable-optimizations' '--with-lto'", "/opt/python", CheckOutcome.OK),
        ((3, 11, 7), "'--enable-shared'", "/opt/python", CheckOutcome.WARN),
        ((3, 11, 7), "'--enable-shared'", "/usr", CheckOutcome.OK),  # Debian's does not say that it is
        ((3, 11, 7), "", "/opt/python", CheckOutcome.OK),  # it does not say anything
    ],
)
def test_a_python_without_optimisations_is_warned_of(
    version: tuple[int, int, int], configured_with: str, prefix: str, outcome: CheckOutcome
) -> None:
    assert python_check(version, configured_with, prefix).outcome is outcome
