"""The generated messages are those of the .proto file, and of the generator that is pinned."""

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[4]
PROTO = "cluster/etcd/acklog_etcd.proto"


def test_the_generated_files_are_current(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "grpc_tools.protoc",
        "-I",
        ".",
        f"--python_out={tmp_path}",
        f"--pyi_out={tmp_path}",
    ]
    subprocess.run([*command, PROTO], cwd=REPOSITORY, check=True)
    for name in ("cluster/etcd/acklog_etcd_pb2.py", "cluster/etcd/acklog_etcd_pb2.pyi"):
        assert (REPOSITORY / name).read_text() == (tmp_path / name).read_text(), f"{name}: see {PROTO}"


def test_the_embedded_server_does_without_grpc() -> None:
    imports = "import sys, app.processes.server, app.commands.main"
    code = f"{imports}; sys.exit('grpc' in sys.modules or 'google.protobuf' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True)
