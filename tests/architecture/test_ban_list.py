"""Everything impure comes through a port. What goes round one is found here, with what to use instead."""

import pytest

from tests.architecture.bans import FORGOTTEN_TASK, UNORDERED, Violation, violations
from tests.architecture.source_tree import product_modules

# (module, ban): why it may. An exception that is not needed any more fails the test, so the table only shrinks.
ALLOWED = {
    ("acklog/runtime.py", "time"): "is the client's clock",
    ("acklog/runtime.py", "random"): "is the client's entropy",
    ("acklog/runtime.py", "os"): "is where the client finds its server's URL, its token and its files for TLS",
    ("acklog/runtime.py", "secrets"): "is the client's entropy",
    ("acklog/client/at_exit.py", "os"): "a forked child must not end its parent's producers",
    ("acklog/client/background.py", "os"): "tells a forked child from its parent",
    ("acklog/body_encryption/sending_keys.py", "threading"): "counts what senders in any thread encrypt",
    ("acklog/body_encryption/keyring.py", "pathlib"): "reads the file of the user's keys, seldom",
    ("acklog/client/caller.py", "asyncio.to_thread"): "asks for keys, which takes its time, and decrypts up to 16 MiB",
    ("acklog/client/renewed_token.py", "pathlib"): "reads the token's file, once a second",
    ("acklog/client/renewed_tls.py", "pathlib"): "looks whether the files for TLS have changed, once a second",
    ("acklog/client/tls_context.py", "pathlib"): "reads the files for TLS, which ssl takes by their paths",
    ("app/commands/demo.py", "shutil"): "makes and removes the demo's directory",
    ("app/commands/demo.py", "tempfile"): "makes and removes the demo's directory",
    ("app/commands/demo.py", "pathlib"): "makes and removes the demo's directory",
    ("cluster/ports/runtime.py", "time"): "is the real clock",
    ("cluster/ports/runtime.py", "random"): "is the real entropy",
    ("cluster/ports/runtime.py", "secrets"): "is the real entropy",
    ("storage/disk/real_disk.py", "os"): "is the real disk",
    ("storage/disk/real_disk.py", "fcntl"): "is the real disk",
    ("storage/disk/real_disk.py", "time"): "is the real disk, and tells how long its syncs take",
    ("app/processes/sync_times.py", "threading"): "counts what I/O threads tell and the loop asks for",
    ("storage/disk/thread_executor.py", "threading"): "is the real executor",
    ("storage/disk/read_only_disk.py", "os"): "is the real disk, for reading only",
    ("storage/disk/read_only_disk.py", "fcntl"): "is the real disk, for reading only",
    ("cluster/stores/sqlite_copy.py", "pathlib"): "copies a file that no server uses, for acklog fsck",
    ("cluster/stores/sqlite_copy.py", "shutil"): "copies a file that no server uses, for acklog fsck",
    ("cluster/stores/sqlite_copy.py", "tempfile"): "copies a file that no server uses, for acklog fsck",
    ("cluster/stores/sqlite_spare.py", "os"): "replaces a file as a whole, on the thread of the coordination file",
    ("storage/node/schedule/sqlite_schedule_index.py", "pathlib"): "where SQLite's files are; on an I/O thread",
    ("storage/node/schedule/sqlite_schedule_indexes.py", "pathlib"): "where SQLite's files are; on an I/O thread",
    ("storage/node/table/sqlite_table_index.py", "pathlib"): "where SQLite's files are; on an I/O thread",
    ("cluster/stores/sqlite_reach.py", "os"): "writes beside the coordination file, on its thread",
    ("cluster/regular_file.py", "os"): "reads a file before the event loop serves, or on another thread",
    ("cluster/regular_file.py", "open"): "reads a file before the event loop serves, or on another thread",
    ("cluster/etcd/client.py", "grpc"): "sends calls to etcd",
    ("cluster/etcd/connections.py", "grpc"): "opens the connections to etcd",
    ("cluster/etcd/etcd_watch.py", "grpc"): "reads etcd's streams",
    ("cluster/etcd/failures.py", "grpc"): "knows gRPC's status codes",
    ("storage/rpc/tcp_transport.py", "create_connection"): "is the real transport",
    ("storage/rpc/tcp_transport.py", "create_server"): "is the real transport",
    ("storage/rpc/tls_transport.py", "create_connection"): "is the real transport",
    ("storage/rpc/tls_transport.py", "socket"): "is the real transport",
    ("storage/rpc/socket_directory.py", "socket"): "makes the sockets by which processes of one server find each other",
    ("storage/rpc/socket_directory.py", "os"): "keeps these sockets from everybody else",
    ("cluster/tls/tls_listener.py", "socket"): "is the real transport's listener, and that of HTTP",
    ("app/processes/certificate_time.py", "open"): "reads a certificate on another thread, to say when it ends",
    ("app/processes/welcome.py", "open"): "reads the names in a certificate once, at the start",
    ("app/jwt/key_file.py", "open"): "reads an issuer's keys on another thread",
    ("app/processes/process_tls.py", "pathlib"): "reads etcd's certificates on another thread",
    ("app/processes/command_master_key.py", "asyncio.create_subprocess_exec"): "asks the program that has the key",
    ("app/processes/command_master_key.py", "os"): "ends that program with its children",
    ("app/processes/master_keys.py", "pathlib"): "reads the file of the master key once, at the start",
    ("app/processes/master_keys.py", "read_bytes"): "reads the file of the master key once, at the start",
    ("app/processes/process_tls.py", "read_bytes"): "reads etcd's certificates on another thread",
    ("storage/log/write_behind.py", "threading"): "guards gathered writes, which I/O threads and the loop share",
    ("storage/log/open_files.py", "threading"): "guards the open files, which I/O threads and the loop share",
    ("app/tracing/export_queue.py", "threading"): "ends the library's own thread, without waiting for it for ever",
    ("acklog_server/own_packages.py", "pathlib"): "names the folder of the server's packages",
    ("app/commands/serve.py", "os"): "says who may read the files that the process makes",
    ("app/commands/health.py", "pathlib"): "asks the kernel which process is the first one",
    ("app/commands/health.py", "read_bytes"): "asks the kernel which process is the first one",
    ("app/commands/process_configuration.py", "os"): "hands the environment to the settings",
    ("app/commands/file_access.py", "os"): "gives a file to whom the one belongs that it replaces",
    ("app/commands/file_access.py", "pathlib"): "gives a file to whom the one belongs that it replaces",
    ("app/commands/pki_directory.py", "os"): "keeps the files of an authority, whole and private",
    ("app/commands/pki_directory.py", "fcntl"): "keeps other commands out of them meanwhile",
    ("app/commands/pki_directory.py", "pathlib"): "keeps the files of an authority",
    ("app/commands/pki.py", "pathlib"): "names the authority's directory",
    ("app/commands/pki_session.py", "pathlib"): "names the authority's directory",
    ("acklog/backup/directory_store.py", "os"): "keeps a backup's files in a directory, durably",
    ("acklog/backup/directory_store.py", "pathlib"): "keeps a backup's files in a directory",
    ("acklog/backup/directory_store.py", "read_bytes"): "keeps a backup's files in a directory",
    ("acklog/backup/opened_store.py", "pathlib"): "names the directory of a backup",
    ("acklog/command/session.py", "time"): "is the command's clock, beside its other surroundings",
    ("acklog/command/session.py", "os"): "hands the environment to the command",
    ("acklog/command/session.py", "pathlib"): "names the directory of the profiles",
    ("acklog/command/program.py", "os"): "is the command's process: what a shell asks of it",
    ("acklog/command/process_end.py", "os"): "is the command's process: its streams and its end",
    ("acklog/command/process_end.py", "io"): "is the command's process: its streams and its end",
    ("acklog/command/profiles.py", "os"): "keeps the profiles' files",
    ("acklog/command/profiles.py", "pathlib"): "keeps the profiles' files",
    ("acklog/command/profiles.py", "read_text"): "keeps the profiles' files",
    ("acklog/command/commands/send.py", "pathlib"): "reads the file that is to be sent",
    ("acklog/command/line_sender.py", "threading"): "reads lines in one thread and tells results in another",
    ("app/http/protocol/server.py", "socket"): "takes the listening address before the data directory is touched",
    ("app/workers/shared_port.py", "socket"): "has a listening socket on one port for every gateway process",
    ("app/workers/supervisor.py", "socket"): "is woken by signals: it has no event loop, as it forks",
    ("app/workers/supervisor.py", "selectors"): "waits for its workers and for signals: it has no event loop",
    ("app/workers/supervisor_channel.py", "socket"): "hears the supervisor",
    ("app/workers/worker_process.py", "socket"): "makes the channel between supervisor and worker",
    ("app/workers/worker_process.py", "os"): "starts the processes of a server, and learns how they ended",
    ("app/processes/service_manager.py", "socket"): "tells systemd that the process serves",
    ("app/commands/node.py", "os"): "says who may read the files that the process makes",
    ("app/commands/gateway.py", "os"): "says who may read the files that the process makes",
    ("app/processes/etcd_connection.py", "pathlib"): "reads etcd's password and certificates once, at the start",
    ("app/processes/etcd_connection.py", "read_bytes"): "reads etcd's password and certificates once, at the start",
    ("app/commands/cluster_up.py", "pathlib"): "makes and removes the local cluster's directory",
    ("app/commands/cluster_up.py", "shutil"): "makes and removes the local cluster's directory",
    ("app/commands/cluster_up.py", "tempfile"): "makes and removes the local cluster's directory",
}

# Programs at a terminal: files, the environment, time and other processes are their business. What is wrong anywhere
# (tasks that nobody holds, the order of sets) is wrong here, too.
PROGRAMS = ("acklog/command/", "app/demo/", "app/local_cluster/")
ALWAYS_WRONG = frozenset({FORGOTTEN_TASK, UNORDERED})

# The SDK serves threads of its user's, and has one of its own for the event loop behind the client without `await`.
THREADED = ("acklog/client/", "acklog/consumer/", "acklog/producer/", "acklog/streams/")


def test_the_product_keeps_to_its_ports() -> None:
    found = [
        f"{module.path}:{violation.line}: {violation.ban} is banned; {violation.instead}"
        for module in product_modules()
        for violation in violations(module.source)
        if (module.path, violation.ban) not in ALLOWED and not _is_its_business(module.path, violation.ban)
    ]
    assert not found, "\n".join(found)


def _is_its_business(path: str, ban: str) -> bool:
    if path.startswith(PROGRAMS):
        return ban not in ALWAYS_WRONG
    return ban == "threading" and path.startswith(THREADED)


def test_every_exception_is_still_needed() -> None:
    needed = {(module.path, violation.ban) for module in product_modules() for violation in violations(module.source)}
    assert sorted(set(ALLOWED) - needed) == []


@pytest.mark.parametrize(
    ("source", "ban"),
    [
        ("import time\n", "time"),
        ("def late():\n    from time import monotonic as now\n", "time"),
        ("import os.path\n", "os"),
        ("from os import urandom\n", "os"),
        ("import random\n", "random"),
        ("from uuid import uuid4\n", "uuid"),
        ("from concurrent import futures\n", "concurrent.futures"),
        ("import socket as s\n", "socket"),
        ("from datetime import datetime as d\nx = d.now()\n", "datetime.datetime.now"),
        ("import datetime\nx = datetime.datetime.utcnow\n", "datetime.datetime.utcnow"),
        ("import asyncio\nasync def f(t): await asyncio.wait(t)\n", "asyncio.wait"),
        ("from asyncio import to_thread\n", "asyncio.to_thread"),
        ("import asyncio as a\nx = a.as_completed\n", "asyncio.as_completed"),
        ("def f(loop): loop.run_in_executor(None, f)\n", "run_in_executor"),
        ("def f(): return open('x')\n", "open"),
        ("x = id(3)\n", "id"),
        ("x = hash('a')\n", "hash"),
        ("def f(path): return path.read_bytes()\n", "read_bytes"),
        ("for x in {1, 2}: pass\n", UNORDERED),
        ("seen = set()\nx = [y for y in seen]\n", UNORDERED),
        ("class A:\n    def __init__(self):\n        self.s: set[int] = set()\n        x = list(self.s)\n", UNORDERED),
        ("def f(s: frozenset[int]): return next(iter(s))\n", UNORDERED),
        ("def f(s: set[int], t): return [*(s | t)]\n", UNORDERED),
        ("def f(loop, c): loop.create_task(c)\n", FORGOTTEN_TASK),
        (
            "import asyncio\nasync def f(g, c):\n    async with asyncio.TaskGroup() as t: g.create_task(c)\n",
            FORGOTTEN_TASK,
        ),
    ],
)
def test_what_is_banned_is_found(source: str, ban: str) -> None:
    assert ban in {violation.ban for violation in violations(source)}


@pytest.mark.parametrize(
    "source",
    [
        "import asyncio\nasync def f(t): await asyncio.wait_for(t, 1)\n",
        "def f(clock): return clock.time()\n",
        "s = {1}\nx = sorted(s)\ny = 1 in s\nz = sum(n for n in s)\nt = {n + 1 for n in s}\n",
        "def f(s: set[int]):\n    for x in s:\n        assert x\n    return {*s, 1}\n",
        "def f(): kept = {1}\n\ndef g(kept): return list(kept)\n",
        "def f(loop, c):\n    task = loop.create_task(c)\n    return task\n",
        "import asyncio\nasync def f(c):\n    async with asyncio.TaskGroup() as t:\n        t.create_task(c)\n",
        "import asyncio\ndef f(tasks: asyncio.TaskGroup, c): tasks.create_task(c)\n",
        "from datetime import datetime\nx = datetime.fromtimestamp(0)\n",
        "d = {1: 2}\nfor key in d: pass\n",
        "from cluster.ports.clock import open\nx = open()\n",
        "x = 'import time'\n",
    ],
)
def test_what_is_harmless_is_not(source: str) -> None:
    assert violations(source) == []


def test_a_violation_says_where_and_what_to_use() -> None:
    [violation] = violations("x = 1\ny = hash(x)\n")
    assert violation == Violation(2, "hash", violation.instead)
    assert "crc32c" in violation.instead
