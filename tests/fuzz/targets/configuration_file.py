"""`acklog.toml`, for each of the processes that read it."""

from app.configuration.configured_process import PROCESSES, configure
from app.configuration.reloading import changes, told
from app.configuration.setting_error import SettingsError
from app.configuration.setting_fields import CONFIGURATION_OPTION
from tests.fuzz.fuzz_target import FuzzTarget

_PATH = "acklog.toml"
_TABLES = sorted(PROCESSES)
_SEEDS = (
    b'\x00log_level = "warning"\n\n[serve]\ndata_dir = "./data"\nport = 8080\n\n[storage]\nread_ahead_bytes = 1_024\n',
    b'\x01[node]\nlog_level = "info"\n[gateway]\nport = 1\n',
    b'\x02[serve]\ncors_origins = ["https://shop.example", "http://localhost:3000"]\nallowed_hosts = ["a", "b:1"]\n',
    b"\x02\xef\xbb\xbf[serve]\nauto_create_topics = false\nbody_timeout_ms = 0x10\n",
    b'\x00[serve]\nport = "8080"\n',
    b"\x00[serve]\nprot = 8080\n",
    b"\x00[serve.port]\nx = 1979-05-27T07:32:00Z\n",
)


def _read(data: bytes) -> None:
    table, content = _TABLES[(data[0] if data else 0) % len(_TABLES)], data[1:]
    process = configure(
        table, {}, [CONFIGURATION_OPTION, _PATH], read_file=lambda _path: content, exists=lambda _path: True
    )
    shown = process.shown()
    assert shown
    assert all(each.source for each in shown)
    assert not changes(told(process), told(process)).at_restart


TARGET = FuzzTarget(_read, (SettingsError,), lambda: _SEEDS)
