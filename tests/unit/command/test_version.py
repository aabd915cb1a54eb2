"""`acklog version`: what is installed, and from which commit."""

import json
from importlib.metadata import version

import pytest

from acklog.command import build
from tests.support.command_run import run_command


class Installed:
    """A distribution whose origin pip has noted."""

    version = "0.0.0"

    def __init__(self, origin: object) -> None:
        self._origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._origin is None else json.dumps(self._origin)


def test_every_distribution_is_named() -> None:
    found = run_command("version", "--json").document
    assert found["versions"] == {name: version(name) for name in build.DISTRIBUTIONS}
    text = run_command("version").stdout
    assert "acklog-server" in text
    assert "python" in text


def test_one_that_is_not_installed_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "DISTRIBUTIONS", ("acklog", "acklog-no-such"))
    assert run_command("version", "--json").document["versions"] == {
        "acklog": version("acklog"),
        "acklog-no-such": None,
    }
    assert "not installed" in run_command("version").stdout


@pytest.mark.parametrize(
    ("environment", "origin", "commit"),
    [
        ({"ACKLOG_COMMIT": "c0ffee"}, {"vcs_info": {"commit_id": "decade"}}, "c0ffee"),
        ({"ACKLOG_COMMIT": ""}, {"vcs_info": {"commit_id": "decade"}}, "decade"),
        ({}, {"url": "https://example.org/acklog.whl", "archive_info": {}}, None),
        ({}, {"url": "file:///no/such/folder", "dir_info": {"editable": True}}, None),
        ({}, None, None),
    ],
)
def test_a_commit_is_told_by_who_knows_it(
    environment: dict[str, str], origin: object, commit: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "_installed", lambda name: Installed(origin))
    assert build.commit(environment) == commit
