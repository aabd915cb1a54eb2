"""Profiles: files that only their owner can read, tokens that are never shown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from acklog.command.exit_codes import ExitCode
from acklog.command.failures import CommandError
from acklog.command.profiles import ProfileStore
from acklog.command.server_files import NO_FILES, ServerFiles
from acklog.command.session import Server
from tests.support.command_run import CommandRun, run_command

Acklog = Callable[..., CommandRun]


@pytest.fixture
def acklog(tmp_path: Path) -> Acklog:
    def run(*arguments: str, connect: Any = None, **options: Any) -> CommandRun:
        surroundings: dict[str, Any] = {"config_directory": tmp_path / "acklog"}
        if connect is not None:
            surroundings["connect"] = connect
        return run_command(*arguments, surroundings=surroundings, **options)

    return run


def server_of(acklog: Acklog, *arguments: str, environment: dict[str, str] | None = None) -> Server:
    """Which server a command would ask."""
    asked: list[Server] = []

    def connect(server: Server, _timeout_s: float) -> object:
        asked.append(server)
        raise CommandError("enough")

    acklog(*arguments, "send", "t", "1", connect=connect, environment=environment)
    return asked[0]


def test_add_list_show_use_remove(acklog: Acklog, tmp_path: Path) -> None:
    added = acklog("profile", "add", "shop", "--server", "https://shop:1/")
    assert added.exit_code == 0
    assert added.stdout == "name    shop\nserver  https://shop:1\ntoken   none\nin use  yes\n"
    acklog("profile", "add", "test", "--server", "http://test", "--token-stdin", stdin="secret-1\n")
    listed = acklog("profile", "list")
    assert listed.stdout.splitlines() == [
        "USE  NAME  SERVER          TOKEN",
        "*    shop  https://shop:1",
        "     test  http://test     stored",
    ]
    assert acklog("profile", "use", "test", "--json").document["inUse"] is True
    assert acklog("profile", "show", "test", "--json").document == {
        "name": "test",
        "server": "http://test",
        "hasToken": True,
        "inUse": True,
    }
    assert acklog("profile", "show").stdout.splitlines()[0] == "server   http://test"
    assert acklog("profile", "remove", "test", "--json").document == {"removed": "test"}
    assert not (tmp_path / "acklog" / "tokens" / "test").exists()
    assert acklog("profile", "list", "--json").document["profiles"][0]["inUse"] is False
    assert "shop" in acklog("profile", "list", is_terminal=True).stdout


def test_the_token_is_private_and_never_shown(acklog: Acklog, tmp_path: Path) -> None:
    runs = [
        acklog("profile", "add", "shop", "--server", "http://a", "--token", "secret-1"),
        acklog("profile", "list"),
        acklog("profile", "show", "shop", "--json"),
        acklog("profile", "show"),
    ]
    assert all("secret" not in ran.stdout + ran.stderr for ran in runs)
    assert server_of(acklog).token == "secret-1"
    token = tmp_path / "acklog" / "tokens" / "shop"
    assert (token.stat().st_mode & 0o777, token.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "secret" not in (tmp_path / "acklog" / "profiles.toml").read_text()
    token.chmod(0o640)
    refused = acklog("send", "t", "1")
    assert refused.exit_code == ExitCode.FAILED
    assert f"chmod 600 {token}" in refused.stderr


def test_a_profile_that_is_added_again_loses_its_token(acklog: Acklog) -> None:
    acklog("profile", "add", "shop", "--server", "http://a", "--token", "secret-1")
    acklog("profile", "add", "shop", "--server", "http://b")
    assert server_of(acklog) == Server("http://b", None, "the profile in use", "shop")


def test_which_server_is_asked(acklog: Acklog) -> None:
    acklog("profile", "add", "one", "--server", "http://one", "--token", "token-1")
    acklog("profile", "add", "two", "--server", "http://two")
    variables = {"ACKLOG_URL": "http://three", "ACKLOG_TOKEN": "token-3"}
    assert server_of(acklog) == Server("http://one", "token-1", "the profile in use", "one")
    assert server_of(acklog, environment={"ACKLOG_PROFILE": "two"}) == Server(
        "http://two", None, "ACKLOG_PROFILE", "two"
    )
    assert server_of(acklog, environment=variables) == Server("http://three", "token-3", "ACKLOG_URL")
    assert server_of(acklog, "--profile", "one", environment=variables) == Server(
        "http://one", "token-1", "--profile", "one"
    )
    assert server_of(acklog, "--profile", "two", environment=variables).token == "token-3"
    assert server_of(acklog, "--server", "http://four").token is None  # a profile's token is for its own server
    assert server_of(acklog, "--server", "http://four", "--token", "t") == Server("http://four", "t", "--server")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["add", "a b", "--server", "http://a"], "'a b' cannot be a profile's name"),
        (["add", "../x", "--server", "http://a"], "cannot be a profile's name"),
        (["add", "shop"], "a profile needs a server"),
        (["add", "shop", "--server", "shop"], "Did you mean: http://shop?"),
        (["add", "shop", "--server", "http://a", "--token", "a b"], "that cannot be a token"),
        (["add", "shop", "--server", "http://a", "--token-stdin"], "standard input is empty"),
        (["add", "shop", "--server", "http://a", "--token", "t", "--token-stdin"], "one place only"),
        (["use", "poduction"], "Did you mean: production?"),
        (["remove", "nothing"], "there is no profile 'nothing'"),
        (["show", "nothing"], "acklog profile list"),
    ],
)
def test_bad_input(acklog: Acklog, arguments: list[str], says: str) -> None:
    acklog("profile", "add", "production", "--server", "http://a")
    refused = acklog("profile", *arguments)
    assert (refused.exit_code, refused.stdout) == (ExitCode.USAGE, "")
    assert says in refused.stderr


@pytest.mark.parametrize(
    "content",
    [
        "current = 1",
        "profiles = 1",
        "[profiles.a]",
        "[profiles.a]\nserver = 1",
        "[profiles.a]\nserver='x'\nx=1",
        "=",
        "\xff",
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, content: str) -> None:
    (tmp_path / "profiles.toml").write_bytes(content.encode("latin-1"))
    with pytest.raises(CommandError, match="cannot be used"):
        ProfileStore(tmp_path).profiles()


def test_a_reader_that_is_gone(acklog: Acklog) -> None:
    acklog("profile", "add", "shop", "--server", "http://a")
    for arguments in (["list"], ["show"], ["use", "shop"], ["add", "b", "--server", "http://b"]):
        assert acklog("profile", *arguments, is_reader_gone=True).exit_code == ExitCode.READER_GONE


def test_odd_characters_survive(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    store.add("a.b", server='http://x/"\\\x7fü', token=None)
    assert store.profiles()[0].server == 'http://x/"\\\x7fü'
    assert store.current() == "a.b"


class TestFilesForTls:
    GIVEN = ("--ca-file", "/s/ca.pem", "--certificate-file", "/s/own.pem", "--key-file", "/s/own-key.pem")
    FILES = ServerFiles("/s/ca.pem", "/s/own.pem", "/s/own-key.pem")
    ENVIRONMENT: ClassVar = {
        "ACKLOG_CA_FILE": "/e/ca.pem",
        "ACKLOG_CERTIFICATE_FILE": "/e/own.pem",
        "ACKLOG_KEY_FILE": "/e/own-key.pem",
    }

    def test_a_profile_keeps_their_paths(self, acklog: Acklog, tmp_path: Path) -> None:
        added = acklog("profile", "add", "shop", "--server", "https://a", *self.GIVEN, "--json")
        assert added.document["caFile"] == "/s/ca.pem"
        assert server_of(acklog).files == self.FILES
        assert acklog("profile", "show", "--json").document["keyFile"] == "/s/own-key.pem"
        assert "ca file           /s/ca.pem" in acklog("profile", "show", "shop").stdout
        acklog("profile", "add", "other", "--server", "https://b")
        assert server_of(acklog, "--profile", "other").files == NO_FILES
        assert server_of(acklog, "--profile", "shop").files == self.FILES

    def test_relative_ones_are_meant_from_here(self, acklog: Acklog) -> None:
        acklog("profile", "add", "shop", "--server", "https://a", "--ca-file", "pki/ca.pem")
        assert server_of(acklog).files.ca_file == str(Path("pki/ca.pem").absolute())

    def test_options_come_before_the_profile_and_that_before_the_environment(self, acklog: Acklog) -> None:
        assert server_of(acklog, "--server", "https://a", environment=self.ENVIRONMENT).files.ca_file == "/e/ca.pem"
        acklog("profile", "add", "shop", "--server", "https://a", "--ca-file", "/p/ca.pem")
        asked = server_of(acklog, environment=self.ENVIRONMENT).files
        assert asked == ServerFiles("/p/ca.pem", "/e/own.pem", "/e/own-key.pem")
        own = ("--certificate-file", "/s/own.pem", "--key-file", "/s/own-key.pem")
        asked = server_of(acklog, *own, environment=self.ENVIRONMENT).files
        assert asked == ServerFiles("/p/ca.pem", "/s/own.pem", "/s/own-key.pem")

    def test_a_profile_s_are_for_its_server_only(self, acklog: Acklog) -> None:
        acklog("profile", "add", "shop", "--server", "https://a", *self.GIVEN)
        assert server_of(acklog, "--server", "https://other").files == NO_FILES

    def test_without_tls_the_environment_s_are_for_others(self, acklog: Acklog) -> None:
        assert server_of(acklog, "--server", "http://a", environment=self.ENVIRONMENT).files == NO_FILES

    @pytest.mark.parametrize("command", [("send", "t", "1"), ("profile", "add", "x")])
    @pytest.mark.parametrize(
        ("options", "says"),
        [
            (
                ("--server", "http://a", "--ca-file", "x"),
                "--ca-file is for https, and http://a is called without encryption",
            ),
            (("--server", "https://a", "--key-file", "x"), "go together (--certificate-file)"),
            (("--server", "https://a", "--certificate-file", "x"), "go together (--key-file)"),
        ],
    )
    def test_what_makes_no_sense(
        self, acklog: Acklog, command: tuple[str, ...], options: tuple[str, ...], says: str
    ) -> None:
        refused = acklog(*command, *options)
        assert refused.exit_code == ExitCode.USAGE
        assert says in refused.stderr
        assert acklog("profile", "list", "--json").document == {"profiles": []}

    def test_a_file_that_is_not_there(self, acklog: Acklog) -> None:
        refused = acklog("topics", "list", "--server", "https://a", "--ca-file", "/nowhere/ca.pem")
        assert refused.exit_code == ExitCode.USAGE
        assert "acklog: /nowhere/ca.pem cannot be read: No such file or directory (ca_file)" in refused.stderr

    def test_a_profile_s_files_are_paths(self, acklog: Acklog, tmp_path: Path) -> None:
        (tmp_path / "acklog").mkdir()
        (tmp_path / "acklog" / "profiles.toml").write_text('[profiles.a]\nserver = "https://a"\nca_file = 3\n')
        assert "the files of profile 'a' must be paths" in acklog("profile", "list").stderr
