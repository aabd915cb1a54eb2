"""The units of packaging/systemd fit the commands that they run, as we read them, and as systemd does where it is."""

import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.configuration.configured_process import ConfiguredProcess, configure
from app.configuration.node_options import NodeOptions
from app.configuration.server_settings import Settings
from app.processes.process_constants import GRACE_SECONDS
from tests.architecture.source_tree import REPOSITORY
from tests.unit.docs.documents import read_document, section

FOLDER = REPOSITORY / "packaging" / "systemd"
UNITS = sorted(path.name for path in FOLDER.glob("*.service"))
PROGRAM = "/opt/acklog/bin/acklog"
EXPOSURE_MAX = 1.5
CLOSING_SECONDS = 10  # for checkpoints
ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze (Debian: systemd) is not installed")


class Unit:
    """Settings by section; one that stands several times is kept as it stood last."""

    def __init__(self, name: str) -> None:
        self.text = (FOLDER / name).read_text()
        parser = configparser.ConfigParser(strict=False, interpolation=None)
        parser.optionxform = str  # type: ignore[assignment, method-assign]
        parser.read_string(self.text)
        self.service: dict[str, str] = dict(parser["Service"])
        self.unit: dict[str, str] = dict(parser["Unit"])

    @property
    def command_line(self) -> list[str]:
        return shlex.split(self.service["ExecStart"].replace("%i", "3"))

    def process(self) -> ConfiguredProcess:
        """As the command itself reads its options, with an acklog.toml in which nothing stands."""
        program, table, *arguments = self.command_line
        assert program == PROGRAM
        return configure(table, {}, arguments, read_file=lambda path: b"", exists=lambda path: True)


def test_there_is_one_for_each_process() -> None:
    assert UNITS == ["acklog-gateway.service", "acklog-node@.service", "acklog.service"]
    assert sorted(Unit(name).command_line[1] for name in UNITS) == ["gateway", "node", "serve"]


@pytest.mark.parametrize("name", UNITS)
def test_the_command_takes_its_options_and_stores_where_it_may(name: str) -> None:
    unit = Unit(name)
    process = unit.process()
    assert process.file is not None
    assert process.file.path == "/etc/acklog/acklog.toml"
    directory = process.loaded.values.get("data_dir")
    state = unit.service.get("StateDirectory")
    assert directory == (None if state is None else f"/var/lib/{state.replace('%i', '3')}")
    if process.sources.table == "node":
        assert process.loaded.make(NodeOptions).id == 3


@pytest.mark.parametrize("name", UNITS)
def test_a_stop_has_the_time_that_the_server_takes_at_most(name: str) -> None:
    unit = Unit(name)
    leave_ms = unit.process().loaded.make(NodeOptions).leave_timeout_ms if "node" in name else 0
    needed_seconds = leave_ms / 1000 + GRACE_SECONDS + CLOSING_SECONDS
    assert int(unit.service["TimeoutStopSec"]) >= needed_seconds


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_waits_reloads_and_comes_back_as_the_server_does(name: str) -> None:
    service = Unit(name).service
    assert (service["Type"], service["TimeoutStartSec"]) == ("notify", "infinity")
    assert service["ExecReload"].endswith("-HUP $MAINPID")
    assert service["Restart"] == "on-failure"
    from app.commands.command_end import USAGE

    assert service["RestartPreventExitStatus"] == str(USAGE)
    assert int(service["LimitNOFILE"]) > Settings().connections_max


def test_the_user_of_the_units_is_made() -> None:
    users = (FOLDER / "sysusers.d" / "acklog.conf").read_text()
    files = (FOLDER / "tmpfiles.d" / "acklog.conf").read_text()
    for name in UNITS:
        assert f"\nu {Unit(name).service['User']} " in users
    assert "\nd /etc/acklog 0750 root acklog " in files


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units as they would be installed, with a program that every machine has."""
    for name in UNITS:
        target = name.replace("@.", "@3.")
        (tmp_path / target).write_text(Unit(name).text.replace(PROGRAM, "/bin/true"))
    return tmp_path


def analyze(*arguments: Any) -> subprocess.CompletedProcess[str]:
    assert ANALYZE is not None
    command = [ANALYZE, "--no-pager", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@needs_systemd
def test_systemd_finds_nothing_wrong(units: Path) -> None:
    done = analyze("verify", "--man=no", "--recursive-errors=no", *sorted(units.iterdir()))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@needs_systemd
def test_the_exposure_is_what_the_page_says(units: Path) -> None:
    text = section(read_document("operations.md"), "systemd")
    for path in sorted(units.iterdir()):
        done = analyze("security", "--offline=yes", path)
        match = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
        assert match is not None, done.stdout + done.stderr
        assert float(match[1]) <= EXPOSURE_MAX
    assert f"at most {EXPOSURE_MAX}" in text
