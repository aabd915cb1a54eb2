"""A server that encrypts, as processes that are killed: nothing is lost, and nothing can be read on its disk."""

import base64
from pathlib import Path

import pytest

from tests.support.command_run import run_command
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

SECRET = "to hide"
MESSAGES = 200


def key_file(directory: Path, name: str = "master.key", fill: int = 7) -> Path:
    path = directory / name
    path.write_bytes(base64.b64encode(bytes([fill]) * 32))
    path.chmod(0o600)
    return path


def server_of(directory: Path, *options: str) -> ServerProcess:
    return ServerProcess(directory / "data", directory / "server.log", options=options)


def on_disk(directory: Path, text: bytes) -> list[str]:
    return [str(path) for path in (directory / "data").rglob("*") if path.is_file() and text in path.read_bytes()]


def bodies(server: ServerProcess) -> list[str]:
    found = []
    for partition in range(2):
        answer = server.request("GET", f"/topics/payments/partitions/{partition}/records?offset=0&maxBytes=4000000")
        found += [message["body"] for message in answer.document["records"]]
    return sorted(found)


def test_killed_servers_keep_what_they_encrypt(tmp_path: Path) -> None:
    options = ("--master-key-file", str(key_file(tmp_path)), "--encrypt-topics")
    sent = sorted(f"{number:03} {SECRET}" for number in range(MESSAGES))
    with server_of(tmp_path, *options) as server:
        assert server.request("PUT", "/topics/payments", {"partitions": 2}).status == 201
        for number in range(MESSAGES):
            message = {"queue": "payments", "body": f"{number:03} {SECRET}", "key": f"k{number} {SECRET}"}
            assert server.request("POST", "/messages", message | {"dedupId": f"d{number} {SECRET}"}).status == 201
            if number % 70 == 35:
                server.kill()
                server.start()
        got = server.request("GET", "/messages?queue=payments&group=workers&max=50").document["messages"]
        assert len(got) == 50
        assert server.request("POST", "/nack", {"receipt": got[0]["receipt"], "reason": f"why {SECRET}"}).status == 200
        assert server.request("POST", "/topics/payments/encryption/rotate").status == 202
        assert bodies(server) == sent
        server.kill()
        assert on_disk(tmp_path, SECRET.encode()) == []
        server.start()
        assert bodies(server) == sent
        state = server.request("GET", "/topics/payments/encryption").document
        assert [key["number"] for key in state["dataKeys"]] == [1, 2]
        environment = {"ACKLOG_URL": server.base_url}
        listed = run_command("encryption", "status", "--json", environment=environment)
        assert [key["number"] for key in listed.document["topics"][0]["dataKeys"]] == [1, 2]
        told = run_command("encryption", "rotate", "payments", "--wait", environment=environment)
        assert (told.exit_code, "payments" in told.stdout) == (0, True)
        checks = run_command("doctor", "--json", environment=environment).document["checks"]
        assert [check["outcome"] for check in checks if check["check"] == "encryption"] == ["ok"]
        shown = server.request("GET", "/metrics").content.decode() + (tmp_path / "server.log").read_text()
        assert base64.b64encode(bytes([7]) * 32).decode() not in shown
    checked = run_command("fsck", str(tmp_path / "data"), "--records", "--json")
    assert checked.exit_code == 0
    kinds = {finding["kind"] for finding in checked.document["findings"]}
    assert "ENCRYPTED" in kinds
    opened = run_command("fsck", str(tmp_path / "data"), "--records", "--json", *options[:2])
    assert (opened.exit_code, opened.document["isSound"]) == (0, True)
    assert "ENCRYPTED" not in {finding["kind"] for finding in opened.document["findings"]}


def test_without_the_right_key_a_start_says_so_and_changes_nothing(tmp_path: Path) -> None:
    right, wrong = key_file(tmp_path), key_file(tmp_path, "wrong.key", fill=8)
    with server_of(tmp_path, "--master-key-file", str(right), "--encrypt-topics") as server:
        assert server.request("POST", "/messages", {"queue": "payments", "body": SECRET, "partition": 0}).status == 201
        server.stop()
    for options in ((), ("--master-key-file", str(wrong))):
        refused = server_of(tmp_path, *options)
        refused.launch()
        assert refused.wait() == 1
        assert "NO_MASTER_KEY: the topic payments is encrypted by the master key" in refused.output()
    with server_of(tmp_path, "--master-key-file", str(right)) as server:
        answer = server.request("GET", "/topics/payments/partitions/0/records?offset=0")
        assert answer.document["records"][0]["body"] == SECRET


def test_a_rebuilt_topic_whose_keys_are_lost_says_so_and_goes_on_encrypted(tmp_path: Path) -> None:
    options = ("--master-key-file", str(key_file(tmp_path)))
    with server_of(tmp_path, *options) as server:
        made = server.request("PUT", "/topics/payments", {"partitions": 1, "config": {"encryption": "on"}}).document
        for number in range(1, 4):
            assert server.request("POST", "/messages", {"queue": "payments", "body": SECRET}).status == 201
            wait_until(lambda count=number: data_keys(server, "payments") == count, seconds=20, what="the data key")
            if number < 3:
                assert server.request("POST", "/topics/payments/encryption/rotate").status == 202
        server.kill()
    for lost in (tmp_path / "data").glob("coordination*"):
        lost.unlink()
    rebuilt = run_command("rebuild", str(tmp_path / "data"), "--json").document
    assert rebuilt["withoutKeys"] == rebuilt["recovered"] == [made["id"]]
    with server_of(tmp_path, *options) as server:
        name = f"recovered-{made['id']}"
        wanted = server.request("GET", f"/topics/{name}/encryption").document["dataKeysWanted"]
        assert 1 <= wanted <= 3  # as many as were used: a rotation counts from when its key is there
        wait_until(lambda: data_keys(server, name) == wanted, seconds=20, what="new data keys")
        answer = server.request("GET", f"/topics/{name}/partitions/0/records?offset=0").document
        assert (answer["code"], "cannot be decrypted" in answer["detail"]) == ("RECORDS_CORRUPT", True)
        assert server.request("POST", "/messages", {"queue": name, "body": SECRET}).status == 201
        server.kill()
        assert on_disk(tmp_path, SECRET.encode()) == []


def data_keys(server: ServerProcess, topic: str) -> int:
    return len(server.request("GET", f"/topics/{topic}/encryption").document["dataKeys"])
