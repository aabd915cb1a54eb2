"""Where etcd is and who we are there, as nodes and gateways are told it."""

from collections.abc import Callable
from dataclasses import dataclass, fields

from app.configuration.setting_error import SettingsError
from app.configuration.setting_fields import check_fields, number, text, texts, where_to_set
from cluster.etcd.etcd_settings import EtcdSettings, EtcdTls, EtcdUser

ReadFile = Callable[[str], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdOptions:
    """Files are read once, by `settings`."""

    etcd: str = texts("http://127.0.0.1:2379", "etcd's members, separated by commas: http://host:port or https://…")
    etcd_user: str = text("", "user of etcd; empty: none")
    etcd_password_file: str = text("", "file with the password of --etcd-user")
    etcd_ca_file: str = text("", "PEM file of the authority that signed etcd's certificates; for https")
    etcd_certificate_file: str = text("", "PEM file of our certificate, where etcd asks for one")
    etcd_key_file: str = text("", "PEM file of our certificate's private key")
    etcd_server_name: str = text("", "name in etcd's certificates; empty: the host of each endpoint")
    etcd_wait_ms: int = number(10_000, 0, 3_600_000, "how long a start waits for an etcd that cannot be reached")

    def __post_init__(self) -> None:
        check_fields(self)
        self.endpoints()
        if bool(self.etcd_user) != bool(self.etcd_password_file):
            raise SettingsError(
                f"etcd_user and etcd_password_file go together ({where_to_set('etcd_user')}; "
                f"{where_to_set('etcd_password_file')})"
            )
        if bool(self.etcd_certificate_file) != bool(self.etcd_key_file):
            raise SettingsError(
                f"etcd_certificate_file and etcd_key_file go together ({where_to_set('etcd_certificate_file')}; "
                f"{where_to_set('etcd_key_file')})"
            )
        if self.uses_tls() and not self.etcd_ca_file:
            raise SettingsError(f"etcd is reached by https, so etcd_ca_file is needed ({where_to_set('etcd_ca_file')})")
        if not self.uses_tls() and (self.etcd_ca_file or self.etcd_certificate_file or self.etcd_server_name):
            raise SettingsError(f"the files for TLS need endpoints with https:// ({where_to_set('etcd')})")

    def endpoints(self) -> tuple[str, ...]:
        """As host:port. Raises SettingsError."""
        given = [each.strip().rstrip("/") for each in self.etcd.split(",") if each.strip()]
        bare = tuple(each.removeprefix("http://").removeprefix("https://") for each in given)
        try:
            EtcdSettings(bare)
        except ValueError as error:
            raise SettingsError(f"etcd is {self.etcd!r}: {error} ({where_to_set('etcd')})") from None
        if len({each.startswith("https://") for each in given}) > 1:
            raise SettingsError(f"etcd is {self.etcd!r}: all endpoints have to be http, or all https")
        return bare

    def uses_tls(self) -> bool:
        return self.etcd.strip().startswith("https://")

    def settings(self, read_file: ReadFile) -> EtcdSettings:
        """Raises SettingsError for a file that cannot be read, or cannot be right."""
        user = None
        if self.etcd_user:
            password = self._read("etcd_password_file", read_file).decode(errors="replace").rstrip("\r\n")
            if not password:
                raise SettingsError(f"etcd_password_file: {self.etcd_password_file} is empty")
            user = EtcdUser(self.etcd_user, password)
        return EtcdSettings(self.endpoints(), tls=self._tls(read_file) if self.uses_tls() else None, user=user)

    def _tls(self, read_file: ReadFile) -> EtcdTls:
        has_own = bool(self.etcd_certificate_file)
        return EtcdTls(
            self._read("etcd_ca_file", read_file, "CERTIFICATE"),
            self._read("etcd_certificate_file", read_file, "CERTIFICATE") if has_own else None,
            self._read("etcd_key_file", read_file, "PRIVATE KEY") if has_own else None,
            self.etcd_server_name or None,
        )

    def _read(self, name: str, read_file: ReadFile, kind: str = "") -> bytes:
        path = getattr(self, name)
        try:
            content = read_file(path)
        except OSError as error:
            raise SettingsError(f"{name}: {path} cannot be read: {error.strerror or error}") from None
        if kind and not (b"-----BEGIN " in content and kind.encode() in content):
            raise SettingsError(f"{name}: {path} holds no {kind.lower()} in PEM")
        return content


ETCD_GROUPS = {"Where etcd is": tuple(each.name for each in fields(EtcdOptions))}
