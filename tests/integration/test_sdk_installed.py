"""The SDK's distribution as a backend gets it: built, installed beside an `app/` of its own, and imported."""

import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.support.machine_speed import slowness
from tests.support.server_process import REPOSITORY, ServerProcess

pytestmark = pytest.mark.integration

DEPENDENCIES_MAX = 3
IMPORT_S_MAX = 0.3


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that the build leaves nothing in the checkout."""
    source = tmp_path_factory.mktemp("source")
    shutil.copytree(REPOSITORY / "acklog", source / "acklog", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(REPOSITORY / "packaging/acklog", source / "packaging/acklog")
    target = tmp_path_factory.mktemp("wheel")
    uv = Path(sysconfig.get_path("scripts")) / "uv"
    command = [uv, "build", "--wheel", "--out-dir", target, source / "packaging/acklog"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    [built] = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def backend(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A web backend's folder with its own packages `app`, `storage` and `cluster`, and the wheel unpacked beside."""
    folder = tmp_path_factory.mktemp("backend")
    for name in ("app", "storage", "cluster"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(f"WHOSE = 'the backend'\nNAME = {name!r}\n")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    return folder


def run_in(backend: Path, program: str) -> str:
    """Without the checkout's own packages: third-party libraries are found, editable installs are not."""
    libraries = sysconfig.get_path("purelib")
    paths = [str(backend), str(backend / "installed"), libraries]
    source = f"import sys; sys.path[:0] = {paths!r}\n{program}"
    done = subprocess.run(
        [sys.executable, "-S", "-c", source], cwd=backend, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_one_package_and_three_dependencies(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [metadata] = [name for name in names if name.endswith("/METADATA")]
        requirements = Parser().parsestr(archive.read(metadata).decode()).get_all("Requires-Dist") or []
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"acklog"}
    assert "acklog/py.typed" in names
    direct = [requirement for requirement in requirements if "extra ==" not in requirement]
    assert len(direct) <= DEPENDENCIES_MAX, direct


def test_a_backend_with_an_app_of_its_own_and_the_sdk_both_work(backend: Path, shared_server: ServerProcess) -> None:
    program = f"""
import app, storage, cluster, acklog
assert (app.WHOSE, storage.WHOSE, cluster.WHOSE) == ("the backend",) * 3
assert acklog.__file__.startswith({str(backend)!r}), acklog.__file__
with acklog.Client({shared_server.base_url!r}) as client:
    sent = client.send("from-a-backend", {{"order": 1}}, key="k")
    with client.producer("from-a-backend") as producer:
        producer.send({{"order": 2}}, key="k")
    with client.consumer("from-a-backend", group="g") as consumer:
        for batch in consumer.batches(2, linger_ms=2000):
            with batch:
                print([message.body for message in batch])
            break
"""
    assert run_in(backend, program) == "[{'order': 1}, {'order': 2}]\n"


def test_the_import_is_quick_and_brings_no_http_library(backend: Path) -> None:
    program = "import acklog; print(sorted({name.partition('.')[0] for name in sys.modules} & {names}))"
    names = {"aiohttp", "yarl", "ssl_", "typer", "rich", "click", "httpx2", "pydantic"}
    assert run_in(backend, program.replace("{names}", repr(names))) == "[]\n"
    program = "import time; started = time.perf_counter(); import acklog; print(time.perf_counter() - started)"
    times = [float(run_in(backend, program)) for _ in range(5)]
    assert min(times) / slowness() < IMPORT_S_MAX, times


def test_the_version_is_the_distributions() -> None:
    import acklog

    text = (REPOSITORY / "packaging/acklog/pyproject.toml").read_text()
    match = re.search(r'^version = "(.*)"$', text, re.MULTILINE)
    assert match is not None
    assert match[1] == acklog.__version__
