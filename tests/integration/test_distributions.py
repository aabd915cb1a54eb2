"""The distributions as they are published: what a source distribution makes is what the checkout makes, and an
installed server finds its own packages whatever lies in the current directory. What is installed into an empty
environment, far from the checkout, does what README.md shows."""

import json
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.readme_tour import take_the_tour
from tests.support.server_process import REPOSITORY, ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("distributions")]

BUILD_SECONDS_MAX = 180
PROJECTS = {"acklog": "packaging/acklog", "acklog_spark": "packaging/acklog-spark", "acklog_server": "."}
PACKAGES = {
    "acklog": {"acklog"},
    "acklog_spark": {"acklog_spark", "pyspark_acklog"},
    "acklog_server": {"acklog_server"},
}
SOURCES = (
    *("acklog", "acklog_server", "app", "storage", "cluster", "spark", "packaging"),
    *("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"),
)
LISTENING = "listens on "


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, so that a build leaves nothing in the checkout."""
    folder = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        path = REPOSITORY / name
        if path.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
            shutil.copytree(path, folder / name, ignore=ignored)
        else:
            shutil.copy(path, folder / name)
    return folder


def build(project: Path, target: Path, *options: str) -> Path:
    """The wheel."""
    uv = Path(sysconfig.get_path("scripts")) / "uv"
    command = [uv, "build", *options, "--out-dir", target, project]
    done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_SECONDS_MAX, check=False)
    assert done.returncode == 0, done.stderr
    [wheel] = target.glob("*.whl")
    return wheel


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}


def modules(source: Path) -> list[Path]:
    return sorted(path for path in source.rglob("*.py") if "build" not in path.relative_to(source).parts)


@pytest.fixture(scope="module")
def wheels(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By way of the source distributions."""
    return {name: build(source / path, tmp_path_factory.mktemp(name)) for name, path in PROJECTS.items()}


@pytest.mark.parametrize("name", PROJECTS)
def test_a_source_distribution_makes_the_same_wheel_as_the_checkout(
    name: str, source: Path, wheels: dict[str, Path], tmp_path: Path
) -> None:
    before = modules(source)
    direct = contents(build(source / PROJECTS[name], tmp_path, "--wheel"))
    assert contents(wheels[name]) == direct
    assert {path.split("/")[0] for path in direct if ".dist-info/" not in path} == PACKAGES[name]
    assert any(path.endswith("/py.typed") for path in direct)
    assert modules(source) == before, "a build writes outside of its own folder"


def test_the_servers_wheel_has_the_pages_and_their_licences(wheels: dict[str, Path]) -> None:
    """Files that no import asks for."""
    packed = contents(wheels["acklog_server"])
    files = [path for path in (REPOSITORY / "app/console/static").rglob("*") if path.is_file()]
    assert {"main.js", "documentation.js", "g_plain.css", "preact.LICENSE"} <= {path.name for path in files}
    for path in files:
        assert packed[f"acklog_server/_packages/{path.relative_to(REPOSITORY)}"] == path.read_bytes()


@pytest.fixture
def backend(wheels: dict[str, Path], tmp_path: Path) -> Path:
    """A web backend's folder with packages of its own, and ours unpacked beside."""
    for name in ("app", "storage", "cluster"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('this is the backend')\n")
    for name in PROJECTS:
        with zipfile.ZipFile(wheels[name]) as archive:
            archive.extractall(tmp_path / "installed")
    return tmp_path


def program(backend: Path, *, hidden: str = "") -> str:
    """The command, with the current directory first on the path, and without the checkout's own packages."""
    paths = [str(backend), str(backend / "installed"), sysconfig.get_path("purelib")]
    hide = f"sys.modules[{hidden!r}] = None; " if hidden else ""
    return f"import sys; sys.path[:0] = {paths!r}; {hide}from acklog.start import main; main()"


@contextmanager
def serving(backend: Path) -> Iterator[str]:
    command = [sys.executable, "-S", "-c", program(backend), "serve", "--port", "0"]
    process = subprocess.Popen(command, cwd=backend, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if LISTENING in line:
                yield line.partition(LISTENING)[2].split()[0]
                break
        else:
            pytest.fail("".join(lines))
    finally:
        process.kill()
        process.communicate()


def test_an_installed_server_does_not_mind_the_packages_of_the_current_directory(backend: Path) -> None:
    with serving(backend) as url:
        request = urllib.request.Request(f"{url}/messages", b'{"queue": "orders", "body": 1}', method="POST")
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status == 201
        for path in ("docs", "docs/errors", "docs/plain", "console"):
            with urllib.request.urlopen(f"{url}/{path}", timeout=30) as answer:
                assert answer.status == 200


def test_a_command_without_its_extra_says_which_it_is(backend: Path) -> None:
    command = [sys.executable, "-S", "-c", program(backend, hidden="typer"), "topics", "list"]
    done = subprocess.run(command, cwd=backend, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ('acklog: the command needs an extra, which is not installed: pip install "acklog[cli]"\n')


@pytest.fixture(scope="module")
def environment(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment with the wheels, as somebody has it who has never seen the checkout."""
    folder = tmp_path_factory.mktemp("environment")
    uv = Path(sysconfig.get_path("scripts")) / "uv"
    # Of the versions that were tested, as the image has them. The SDK's extras are asked for by the server.
    install = ["pip", "install", "--python", folder, "--constraint", REPOSITORY / "constraints.txt", *wheels.values()]
    for command in (["venv", "--python", sys.executable, folder], install):
        done = subprocess.run([uv, "--quiet", *command], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
    return folder


def run_installed(environment: Path, *arguments: str) -> str:
    command = [environment / "bin" / "acklog", *arguments]
    done = subprocess.run(command, cwd=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_installed_command_says_what_it_is(environment: Path) -> None:
    found = json.loads(run_installed(environment, "version", "--json"))
    assert set(found["versions"]) == {name.replace("_", "-") for name in PROJECTS}
    for name, path in PROJECTS.items():
        project = tomllib.loads((REPOSITORY / path / "pyproject.toml").read_text())["project"]
        assert found["versions"][name.replace("_", "-")] == project["version"]
    assert found["commit"] is None, "a wheel does not tell, and there is no checkout to ask"
    paths = subprocess.run(
        [environment / "bin" / "python", "-c", "import sys; print(sys.path)"],
        cwd=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert str(REPOSITORY) not in paths.stdout


@pytest.mark.skipif(not shutil.which("curl"), reason="the tour uses curl")
def test_the_tour_works_with_what_is_installed(environment: Path, tmp_path: Path) -> None:
    command = environment / "bin" / "acklog"
    with ServerProcess(tmp_path / "data", tmp_path / "log", installed=command, source=environment) as server:
        take_the_tour(server, tmp_path)
