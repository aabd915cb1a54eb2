"""What an installed server consists of: pinned, of known digests, under licences that somebody has looked at."""

import re
import tomllib
from importlib.metadata import distributions

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from docs.third_party import licence_of, third_parties
from tests.architecture.source_tree import REPOSITORY

PIN = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[^ ]+)(?P<digests>(?: \\\n    --hash=sha256:[0-9a-f]{64})+)")
OURS = {"acklog", "acklog-server", "acklog-spark"}
INSTALLERS = {"pip", "uv"}
LOOKED_AT = ("Apache", "MIT", "BSD", "PSF", "MPL", "LGPL", "ISC")
"""Families of licences under which a library may come along with a program under Apache-2.0, whoever passes it on."""


def pins(name: str) -> dict[str, str]:
    text = "\n".join(line for line in (REPOSITORY / name).read_text().splitlines() if not line.startswith("#"))
    found = PIN.findall(text)
    assert PIN.sub("", text).strip() == "", "every line is part of a pin with its digests"
    return {pinned: version for pinned, version, _digests in found}


def test_every_pin_has_its_digests_and_they_are_in_order() -> None:
    names = list(pins("constraints.txt"))
    assert names == sorted(names)
    assert len(names) == len(set(names))
    assert set(pins("packaging/uv.txt")) == {"uv"}


def test_all_that_is_installed_is_pinned_in_that_version() -> None:
    pinned = pins("constraints.txt")
    installed = {canonicalize_name(each.metadata["Name"]): each.version for each in distributions()}
    for name in OURS | INSTALLERS:
        installed.pop(name, None)
    assert {name: pinned.get(name) for name in installed} == installed


def test_what_builds_is_pinned() -> None:
    pinned = pins("constraints.txt")
    for path in ("pyproject.toml", "packaging/acklog/pyproject.toml", "packaging/acklog-spark/pyproject.toml"):
        for text in tomllib.loads((REPOSITORY / path).read_text())["build-system"]["requires"]:
            needed = Requirement(text)
            assert needed.specifier.contains(pinned[canonicalize_name(needed.name)]), text


def test_licences_are_of_families_that_were_looked_at() -> None:
    installed = {canonicalize_name(each.metadata["Name"]): each for each in distributions()}
    named = {name: licence_of(installed[name]) for name in third_parties()}
    assert [
        f"{name}: {licence}" for name, licence in named.items() if not any(map(licence.__contains__, LOOKED_AT))
    ] == []
    assert {"crc32c", "cryptography", "grpcio", "pyarrow", "uvloop"} <= set(named)
    assert not {"pytest", "pyspark", "locust"} & set(named), "a server does without"
