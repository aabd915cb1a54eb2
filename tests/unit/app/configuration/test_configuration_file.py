"""`acklog.toml`: what it says, what wins over it, and that mistakes in it are told."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from app.configuration.configuration_file import FILE_NAME
from app.configuration.configured_process import DEFAULT, PROCESSES, ConfiguredProcess, configure
from app.configuration.etcd_options import EtcdOptions
from app.configuration.node_options import NodeOptions
from app.configuration.server_settings import Settings
from app.configuration.setting_error import SettingsError

FILE = b"""
log_level = "warning"
etcd = ["http://etcd-1:2379", "http://etcd-2:2379"]

[serve]
port = 9000
auto_create_topics = false

[node]
id = 3
http = "127.0.0.1:7001"

[storage]
read_ahead_bytes = 2_097_152
compaction_dirty_ratio_min = 0.25
"""


def configured(
    table: str,
    content: bytes | None = FILE,
    *,
    environment: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
    path: str = FILE_NAME,
) -> ConfiguredProcess:
    files = {} if content is None else {path: content}

    def read_file(name: str) -> bytes:
        if name not in files:
            raise FileNotFoundError(2, "No such file or directory")
        return files[name]

    return configure(table, environment or {}, arguments, read_file=read_file, exists=files.__contains__)


def sources(process: ConfiguredProcess) -> dict[str, str]:
    return {each.name: each.source for each in process.shown() if each.source != DEFAULT}


def test_a_process_has_its_table_and_what_stands_above_all() -> None:
    server = configured("serve")
    settings = server.loaded.make(Settings)
    assert (settings.port, settings.auto_create_topics, settings.log_level) == (9000, False, "warning")
    assert sources(server) == {
        "port": "acklog.toml: serve.port",
        "auto_create_topics": "acklog.toml: serve.auto_create_topics",
        "log_level": "acklog.toml: log_level",
        "read_ahead_bytes": "acklog.toml: storage.read_ahead_bytes",
        "compaction_dirty_ratio_min": "acklog.toml: storage.compaction_dirty_ratio_min",
    }
    node = configured("node")
    assert node.loaded.make(NodeOptions).id == 3
    assert node.loaded.make(EtcdOptions).endpoints() == ("etcd-1:2379", "etcd-2:2379")
    assert node.storage is not None
    assert (node.storage.read_ahead_bytes, node.storage.compaction.dirty_ratio_min) == (2_097_152, 0.25)
    assert node.storage.log_store.round_interval_ms == 2, "a node's own default"
    gateway = configured("gateway")
    assert gateway.storage is None
    assert gateway.loaded.make(Settings).auto_create_topics is False, "a gateway's own default"
    assert gateway.loaded.make(Settings).port == 8080


def test_an_option_wins_over_a_variable_and_that_over_the_file() -> None:
    environment = {"ACKLOG_PORT": "9001", "ACKLOG_LOG_LEVEL": "error", "ACKLOG_NODE_READ_AHEAD_BYTES": "4096"}
    server = configured("serve", environment=environment, arguments=["--port", "9002"])
    settings = server.loaded.make(Settings)
    assert (settings.port, settings.log_level, settings.auto_create_topics) == (9002, "error", False)
    assert server.storage is not None
    assert server.storage.read_ahead_bytes == 4096
    found = sources(server)
    assert (found["port"], found["log_level"]) == ("--port", "ACKLOG_LOG_LEVEL")
    assert found["read_ahead_bytes"] == "ACKLOG_NODE_READ_AHEAD_BYTES"


def test_where_it_is_looked_for() -> None:
    assert configured("serve", path="/etc/acklog.toml").file is None
    by_option = configured("serve", path="/etc/acklog.toml", arguments=["--config", "/etc/acklog.toml"])
    assert sources(by_option)["port"] == "/etc/acklog.toml: serve.port"
    by_variable = configured("serve", path="/etc/acklog.toml", environment={"ACKLOG_CONFIG": "/etc/acklog.toml"})
    assert sources(by_variable) == sources(by_option)
    assert by_variable.unknown == []
    assert configured("serve", environment={"ACKLOG_CONFIG": ""}).file is None, "an empty name means none"
    with pytest.raises(SettingsError, match=r"file /etc/other\.toml cannot be read: No such file"):
        configured("serve", arguments=["--config", "/etc/other.toml"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[serve]\nprot = 1", r"^acklog\.toml: serve\.prot is no setting; is port meant\?$"),
        ("[serve]\ndata-dir = '/d'", r"serve\.data-dir is no setting; is data_dir meant\?"),
        ("prot = 1", r"^acklog\.toml: prot is no setting; is port meant\?$"),
        ("[server]\nport = 1", r"has a table \[server\]; is serve meant\?"),
        ("[zoo]\nport = 1", r"has a table \[zoo\]; there are gateway, node, serve, storage$"),
        ("[gateway]\ndata_dir = '/d'", r"gateway\.data_dir is no setting"),
        ("[storage]\nread_ahead = 1", r"storage\.read_ahead is no setting; is read_ahead_bytes meant\?"),
        ("[serve]\nport = '1'", r"serve\.port is '1', it must be a whole number"),
        ("[serve]\nport = 1.5", r"serve\.port is 1\.5, it must be a whole number"),
        ("[serve]\nport = true", r"serve\.port is True, it must be a whole number"),
        ("[serve]\nport = 65536", r"serve\.port is 65536, it may be 0 to 65535"),
        ("[serve]\ninsecure = 'yes'", r"serve\.insecure is 'yes', it must be true or false"),
        ("[serve]\nrack = 1", r"serve\.rack is 1, it must be a text"),
        ("[serve]\nallowed_hosts = ['a', 1]", r"serve\.allowed_hosts is \['a', 1\], it must be a text"),
        (
            "[serve]\nhost = ['127.0.0.1', '127.0.0.2']",
            r"serve\.host is \['127.0.0.1', '127.0.0.2'\], it must be a text",
        ),
        ("[serve]\ndata_dir = ['a']", r"serve\.data_dir is \['a'\], it must be a text"),
        (
            '[serve]\ndata_dir = "a\\u0000b"',
            r"serve\.data_dir is 'a\\x00b', it may have no line ends and no other control",
        ),
        ('tokens_file = "t\\n"', r"^acklog\.toml: tokens_file is 't\\n', it may have no line ends"),
        ('[serve]\nallowed_hosts = ["a", "b\\u007f"]', "control"),
        ("[serve]\nport = {a = 1}", r"serve\.port is \{'a': 1\}, it must be a whole number"),
        ("[storage]\nread_ahead_bytes = -1", r"storage\.read_ahead_bytes is -1, it must not be negative"),
        ("[storage]\nread_ahead_bytes = 1.5", r"storage\.read_ahead_bytes is 1\.5, it must be a whole number"),
        ("[storage]\ncompaction_dirty_ratio_min = inf", r"must not be negative, nor without end"),
        ("[storage]\ncompaction_dirty_ratio_min = nan", r"must not be negative, nor without end"),
        ("port =", r"acklog\.toml is no TOML: Invalid value \(at "),
        ("port = '\xff'", r"acklog\.toml is no TOML: "),
    ],
)
def test_a_mistake_is_told_with_its_place(content: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        configured("serve", content.encode("latin-1"))


def test_lists_are_for_what_is_several_names() -> None:
    process = configured("gateway", b"allowed_hosts = ['a', 'b']\n[gateway]\netcd = ['http://e-1:1', 'http://e-2:1']")
    assert process.loaded.make(Settings).allowed_hosts == "a,b"
    assert process.loaded.make(EtcdOptions).endpoints() == ("e-1:1", "e-2:1")
    taken = {
        name for each in PROCESSES.values() for name, known in each.known().items() if known.metadata.get("may_be_list")
    }
    assert taken == {"allowed_hosts", "cors_origins", "etcd", "jwt_algorithms", "jwt_audience"}


def test_a_byte_order_mark_is_passed_over() -> None:
    process = configured("serve", "[serve]\nport = 7\n".encode("utf-8-sig"))
    assert process.loaded.make(Settings).port == 7


def test_what_is_wrong_for_another_process_is_wrong_for_all() -> None:
    """Or it would be found when that one is started, at night."""
    with pytest.raises(SettingsError, match=r"node\.ide is no setting"):
        configured("gateway", b"[node]\nide = 1")


@pytest.mark.parametrize("process", PROCESSES)
def test_every_setting_is_in_one_group_of_the_help(process: str) -> None:
    known = PROCESSES[process].known()
    counts = Counter(name for names in PROCESSES[process].groups.values() for name in names if name in known)
    assert counts == Counter(known.keys())
    assert {name for names in PROCESSES[process].groups.values() for name in names} - set(known) <= {"data_dir"}
