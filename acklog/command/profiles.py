"""Profiles: servers by name, in `profiles.toml` of a configuration directory.

Tokens are not in that file, so that it can be shared: each lies in a file of its own that only its owner may read
(mode 0600), `tokens/<profile>`. A token that others may read is refused, as ssh does with keys.
"""

import os
import re
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from acklog.command.failures import CommandError, UsageError, near_names
from acklog.command.server_files import NO_FILES, ServerFiles

PRIVATE_FILE_MODE = 0o600
PRIVATE_DIRECTORY_MODE = 0o700
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FILE_FIELDS = ("ca_file", "certificate_file", "key_file")
_FIELDS = frozenset({"server", *_FILE_FIELDS})


@dataclass(frozen=True, slots=True)
class Profile:
    """A server by name. Whether there is a token is known, the token itself is read when it is needed. `files` are for
    TLS: their paths are kept, not what is in them, so that they may be renewed."""

    name: str
    server: str
    has_token: bool
    files: ServerFiles = NO_FILES


_Entry = tuple[str, ServerFiles]


class ProfileStore:
    """The profiles of one configuration directory. Every method raises CommandError for files it cannot use."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "profiles.toml"
        self._tokens = directory / "tokens"

    def profiles(self) -> list[Profile]:
        """All profiles by name."""
        servers, _ = self._read()
        return [self._profile(name, servers[name]) for name in sorted(servers)]

    def current(self) -> str:
        """The name of the profile in use; "" for none."""
        return self._read()[1]

    def get(self, name: str) -> Profile:
        """Raises CommandError with near names for a profile that is not there."""
        servers, _ = self._read()
        self._require(name, servers)
        return self._profile(name, servers[name])

    def token(self, name: str) -> str | None:
        """The profile's token, or None. Raises CommandError when others may read the file."""
        path = self._tokens / name
        try:
            if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
                raise CommandError(
                    f"the token file {path} may be read by others", hint=f"Make it private: chmod 600 {path}"
                )
            return path.read_text().strip() or None
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"the token file {path} cannot be read: {error}") from error

    def add(self, name: str, *, server: str, token: str | None, files: ServerFiles = NO_FILES) -> Profile:
        """Add or replace a profile. The first one is in use at once. Without a token the profile's old one goes."""
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot be a profile's name",
                field="NAME",
                hint="Use up to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit.",
            )
        servers, current = self._read()
        if token is None:
            self._remove_token(name)
        else:
            self._write_private(self._tokens / name, token + "\n")
        servers[name] = (server, files)
        self._write(servers, current or name)
        return self._profile(name, servers[name])

    def use(self, name: str) -> None:
        """Let a profile be the one in use."""
        servers, _ = self._read()
        self._require(name, servers)
        self._write(servers, name)

    def remove(self, name: str) -> None:
        """Forget a profile and its token."""
        servers, current = self._read()
        self._require(name, servers)
        del servers[name]
        self._remove_token(name)
        self._write(servers, "" if current == name else current)

    # --- files -------------------------------------------------------------------------------------------------------

    def _profile(self, name: str, entry: _Entry) -> Profile:
        server, files = entry
        return Profile(name, server, (self._tokens / name).exists(), files)

    def _require(self, name: str, servers: dict[str, _Entry]) -> None:
        if name in servers:
            return
        raise UsageError(
            f"there is no profile {name!r}",
            near=near_names(name, sorted(servers)),
            hint="See what there is: acklog profile list. Make one: acklog profile add NAME --server URL.",
        )

    def _read(self) -> tuple[dict[str, _Entry], str]:
        """(server and files by profile, the current profile's name)."""
        try:
            document = tomllib.loads(self.path.read_text())
        except FileNotFoundError:
            return {}, ""
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise self._unusable(str(error)) from error
        profiles = document.get("profiles", {})
        current = document.get("current", "")
        if not isinstance(profiles, dict) or not isinstance(current, str):
            raise self._unusable("profiles must be tables, and current a name")
        servers = {name: self._entry(name, fields) for name, fields in profiles.items()}
        return servers, current if current in servers else ""

    def _entry(self, name: str, fields: object) -> _Entry:
        if not _NAME.fullmatch(name):
            raise self._unusable(f"{name!r} cannot be a profile's name")
        if not isinstance(fields, dict) or not isinstance(fields.get("server"), str):
            raise self._unusable(f"profile {name!r} has no server")
        unknown = sorted(set(fields) - _FIELDS)
        if unknown:
            raise self._unusable(f"profile {name!r} has the unknown field {unknown[0]!r}")
        files = {field: fields[field] for field in _FILE_FIELDS if field in fields}
        if not all(isinstance(path, str) for path in files.values()):
            raise self._unusable(f"the files of profile {name!r} must be paths")
        return str(fields["server"]), ServerFiles(**files)

    def _unusable(self, why: str) -> CommandError:
        return CommandError(f"{self.path} cannot be used: {why}", hint="Correct the file, or remove it.")

    def _write(self, servers: dict[str, _Entry], current: str) -> None:
        lines = [f"current = {_quoted(current)}"] if current else []
        for name in sorted(servers):
            server, files = servers[name]
            lines += ["", f"[profiles.{_quoted(name)}]", f"server = {_quoted(server)}"]
            lines += [f"{field} = {_quoted(path)}" for field, path in files.named().items()]
        self._write_private(self.path, "\n".join(lines).lstrip("\n") + "\n")

    def _write_private(self, path: Path, content: str) -> None:
        """Whole or not at all, and never readable by others, not even for a moment."""
        temporary = path.with_name(f".{path.name}.new")
        try:
            path.parent.mkdir(mode=PRIVATE_DIRECTORY_MODE, parents=True, exist_ok=True)
            temporary.unlink(missing_ok=True)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE_MODE)
            with os.fdopen(descriptor, "w") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            temporary.replace(path)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error}") from error

    def _remove_token(self, name: str) -> None:
        try:
            (self._tokens / name).unlink(missing_ok=True)
        except OSError as error:
            raise CommandError(f"the token of {name!r} cannot be removed: {error}") from error


def _quoted(text: str) -> str:
    """A basic string of TOML; its escapes are those of JSON, but for one."""
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")
