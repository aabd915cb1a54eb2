"""What is installed here: which distributions in which versions, made from which commit."""

import json
import subprocess
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from urllib.parse import urlsplit
from urllib.request import url2pathname

DISTRIBUTIONS = ("acklog", "acklog-server", "acklog-spark")
COMMIT_VARIABLE = "ACKLOG_COMMIT"
"""Set by who builds an image, from a commit that nothing in it would tell."""
_GIT_SECONDS = 5


def versions() -> dict[str, str | None]:
    """By distribution; None for one that is not installed."""
    found = {name: _installed(name) for name in DISTRIBUTIONS}
    return {name: None if each is None else each.version for name, each in found.items()}


def commit(environment: Mapping[str, str]) -> str | None:
    """Who builds an image says it; pip notes it where it installs from a repository; a checkout that is installed
    editable is asked. None: a file that was downloaded does not tell."""
    named = environment.get(COMMIT_VARIABLE)
    if named:
        return named
    installed = _installed(DISTRIBUTIONS[0])
    origin = None if installed is None else installed.read_text("direct_url.json")
    if origin is None:
        return None
    document = json.loads(origin)
    if "vcs_info" in document:
        return str(document["vcs_info"]["commit_id"])
    if document.get("dir_info", {}).get("editable"):
        return _commit_of_checkout(url2pathname(urlsplit(document["url"]).path))
    return None


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _commit_of_checkout(folder: str) -> str | None:
    command = ["git", "-C", folder, "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
