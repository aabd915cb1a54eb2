"""Where a process that stores has its master keys from. No setting holds a key: they name where one is."""

from dataclasses import dataclass, fields

from app.configuration.setting_error import SettingsError
from app.configuration.setting_fields import check_fields, number, text, where_to_set

_PREVIOUS = "previous_"


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterKeyOptions:
    """Of a key there is one place at most, and the one before only beside one that takes its place."""

    master_key_file: str = text("", "file with the master key for encryption at rest: 32 bytes in base64 or hex")
    master_key_variable: str = text("", "name of the environment variable that has it, in place of a file")
    master_key_command: str = text(
        "", "program that wraps and unwraps data keys by a master key that it alone has, in place of a file"
    )
    master_key_name: str = text("command", "what the key of that program is called; no other key may be called so")
    previous_master_key_file: str = text("", "file with the master key before, while the key is being changed")
    previous_master_key_variable: str = text("", "environment variable with the master key before")
    previous_master_key_command: str = text("", "program with the master key before")
    previous_master_key_name: str = text("previous", "what the key of that program is called")
    master_key_timeout_ms: int = number(10_000, 100, 600_000, "how long such a program may take for one data key")

    def __post_init__(self) -> None:
        check_fields(self)
        for prefix in ("", _PREVIOUS):
            given = self._given(prefix)
            if len(given) > 1:
                raise SettingsError(f"{given[0]} and {given[1]} are both given: of a master key there is one place")
        if self._given(_PREVIOUS) and not self._given(""):
            name = self._given(_PREVIOUS)[0]
            raise SettingsError(
                f"{name} is given, and no master key that takes its place ({where_to_set('master_key_file')})"
            )
        has_programs = bool(self.master_key_command and self.previous_master_key_command)
        if has_programs and self.master_key_name == self.previous_master_key_name:
            raise SettingsError(f"master_key_name and previous_master_key_name are both {self.master_key_name!r}")

    @property
    def has_key(self) -> bool:
        return bool(self._given(""))

    def _given(self, prefix: str) -> list[str]:
        names = [f"{prefix}master_key_{kind}" for kind in ("file", "variable", "command")]
        return [name for name in names if getattr(self, name)]


MASTER_KEY_GROUPS = {"What encrypts what is stored": tuple(each.name for each in fields(MasterKeyOptions))}
