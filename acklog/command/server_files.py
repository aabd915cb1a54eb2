"""Files for TLS by which a server is called: by options, of a profile, or of the environment. "" is none."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from acklog.command.failures import UsageError


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """Paths of files in PEM."""

    ca_file: str = ""
    certificate_file: str = ""
    key_file: str = ""

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> "ServerFiles":
        return cls(
            environment.get("ACKLOG_CA_FILE", ""),
            environment.get("ACKLOG_CERTIFICATE_FILE", ""),
            environment.get("ACKLOG_KEY_FILE", ""),
        )

    def named(self) -> dict[str, str]:
        """By name, those that there are."""
        named = {"ca_file": self.ca_file, "certificate_file": self.certificate_file, "key_file": self.key_file}
        return {name: path for name, path in named.items() if path}

    def over(self, others: "ServerFiles") -> "ServerFiles":
        """What is said here, and of what is not what others say. A certificate and its key are one thing."""
        has_own = bool(self.certificate_file or self.key_file)
        return ServerFiles(
            self.ca_file or others.ca_file,
            self.certificate_file if has_own else others.certificate_file,
            self.key_file if has_own else others.key_file,
        )

    def check(self, url: str) -> None:
        """As options for that server. Raises UsageError: who names files believes that nobody listens."""
        for name in self.named():
            if not url.startswith("https:"):
                hint = f"Call it by https{url.removeprefix('http')}, or leave the option out."
                what = f"{_option(name)} is for https, and {url} is called without encryption"
                raise UsageError(what, field=_option(name), hint=hint)
        if bool(self.certificate_file) != bool(self.key_file):
            missing = "key_file" if self.certificate_file else "certificate_file"
            raise UsageError("a certificate and its key go together", field=_option(missing), hint="Give both.")

    def from_anywhere(self) -> "ServerFiles":
        """The same files, whatever the working directory is."""
        return replace(self, **{name: str(Path(path).absolute()) for name, path in self.named().items()})


NO_FILES = ServerFiles()


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
