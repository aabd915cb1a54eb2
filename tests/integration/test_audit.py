"""The audit log of a real server: over restarts and an orderly stop, and as `acklog audit` and the SDK show it."""

import json
import signal
from pathlib import Path

import pytest

from acklog.client.client import Client
from acklog.command.exit_codes import ExitCode
from acklog.errors import Forbidden
from tests.integration.test_encryption import key_file, on_disk
from tests.support.command_run import CommandRun, run_command
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

ADMIN, AUDITOR, SHOP = "an-admins-token-0123456789", "an-auditors-token-0123456789", "a-shops-token-0123456789"
TOKENS = [
    {"name": "admin", "token": ADMIN, "roles": ["admin"]},
    {"name": "auditor", "token": AUDITOR, "roles": ["auditor"]},
    {"name": "shop", "token": SHOP, "roles": ["producer"]},
]
REFUSALS = 30


def acklog(server: ServerProcess, *arguments: str, token: str) -> CommandRun:
    return run_command(*arguments, environment={"ACKLOG_URL": server.base_url, "ACKLOG_TOKEN": token})


def test_what_was_done_is_known_after_restarts(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    tokens.write_text(json.dumps({"tokens": TOKENS}))
    data, log = tmp_path / "data", tmp_path / "server.log"
    options = ("--tokens-file", str(tokens))
    with ServerProcess(data, log, options=options) as server:
        assert acklog(server, "topics", "create", "orders", "--partitions", "1", token=ADMIN).exit_code == ExitCode.DONE
        assert (
            acklog(server, "topics", "create", "orders", "--partitions", "2", token=ADMIN).exit_code == ExitCode.FAILED
        )
        with Client(server.base_url, token=SHOP) as shop:
            for _ in range(REFUSALS):
                with pytest.raises(Forbidden):
                    shop.topics.delete("orders")
        server.stop()
    with ServerProcess(data, log, options=options) as server:
        found = acklog(server, "audit", "--json", token=AUDITOR).document["records"]
        by_shop = [each for each in found if each.get("principal", {}).get("name") == "shop"]
        assert [each.get("count", 0) for each in by_shop] == [0] * 10 + [REFUSALS - 10], "told when the server ended"
        assert [(each["operation"], each["result"]) for each in found if each["principal"]["name"] == "admin"] == [
            ("putTopic", "allowed"),
            ("putTopic", "failed"),
        ]
        shown = acklog(server, "audit", "--result", "allowed", token=AUDITOR)
        assert "OPERATION" in shown.stdout
        assert "topic orders" in shown.stdout
        assert "partitions: null → 1" in shown.stdout
        followed = acklog(server, "audit", "--follow", "--max", "2", token=AUDITOR)
        assert len(followed.stdout.splitlines()) == 2
        lines = acklog(server, "audit", "--follow", "--max", "1", "--who", "shop", "--json", token=AUDITOR).stdout
        assert json.loads(lines)["code"] == "FORBIDDEN"
        assert "Nothing is recorded" in acklog(server, "audit", "--until", "2d", "--since", "3d", token=AUDITOR).stderr
        assert acklog(server, "audit", token=SHOP).exit_code == ExitCode.NOT_ALLOWED
        assert acklog(server, "audit", "--since", "yesterday", token=AUDITOR).exit_code == ExitCode.USAGE
        doctor = acklog(server, "doctor", token=ADMIN)
        assert "audit log" in doctor.stdout
        with Client(server.base_url, token=AUDITOR) as client:
            page = client.audit.read(limit=1)
            assert (len(page.records), page.at_end) == (1, False)
            assert client.audit.read(after=page.next, limit=1).records[0].code == "TOPIC_EXISTS"


def test_setting_it_needs_no_restart(tmp_path: Path) -> None:
    configuration = tmp_path / "acklog.toml"
    configuration.write_text('[serve]\naudit = "off"\n')
    with ServerProcess(tmp_path / "data", tmp_path / "server.log", options=("--config", str(configuration))) as server:
        assert acklog(server, "topics", "create", "orders", token="").exit_code == ExitCode.DONE
        configuration.write_text('[serve]\naudit = "required"\n')
        server.signal(signal.SIGHUP)
        wait_until(lambda: "reloaded" in server.output(), seconds=60, what="a reload")
        assert acklog(server, "topics", "delete", "orders", "--yes", token="").exit_code == ExitCode.DONE
        found = acklog(server, "audit", "--json", token="").document["records"]
        assert [(each["operation"], each["result"]) for each in found] == [
            ("reload", "allowed"),
            ("deleteTopic", "intended"),
            ("deleteTopic", "allowed"),
        ]
        shown = acklog(server, "audit", "--operation", "reload", token="").stdout
        assert 'audit: "off" → "required"' in shown


def test_where_new_topics_are_encrypted_it_is_too(tmp_path: Path) -> None:
    """Also one that was in clear before: from the first record after the start on."""
    tokens = tmp_path / "tokens.json"
    tokens.write_text(json.dumps({"tokens": TOKENS}))
    given = ("--tokens-file", str(tokens), "--master-key-file", str(key_file(tmp_path)))

    def act(server: ServerProcess, marker: str) -> None:
        headers = {"authorization": f"Bearer {ADMIN}", "x-request-id": marker}
        assert server.request("PUT", f"/topics/{marker}", {"partitions": 1}, headers=headers).status == 201

    with ServerProcess(tmp_path / "data", tmp_path / "server.log", options=given) as server:
        act(server, "seen-1")
    assert on_disk(tmp_path, b'"requestId":"seen-1"') != []
    options = (*given, "--encrypt-topics")
    with ServerProcess(tmp_path / "data", tmp_path / "server.log", options=options) as server:
        act(server, "hidden-1")
        wait_until(lambda: _encryption(server) == "on", seconds=60, what="the switch")
        act(server, "hidden-2")
        listed = acklog(server, "encryption", "status", "--json", token=ADMIN).document["topics"]
        assert {each["topic"]: len(each["dataKeys"]) for each in listed}["__audit"] == 1
        checks = acklog(server, "doctor", "--json", token=ADMIN).document["checks"]
        [check] = [each for each in checks if each["check"] == "encryption"]
        assert check["outcome"] == "ok"
        assert acklog(server, "encryption", "rotate", "__audit", "--wait", token=ADMIN).exit_code == ExitCode.DONE
        found = acklog(server, "audit", "--json", token=AUDITOR).document["records"]
        marked = [each["requestId"] for each in found if "requestId" in each]
        assert marked == ["seen-1", "hidden-1", "hidden-2"]
        server.kill()
    assert on_disk(tmp_path, b'"requestId":"hidden-2"') == []
    with ServerProcess(tmp_path / "fresh" / "data", tmp_path / "fresh.log", options=options) as server:
        act(server, "hidden-3")
        server.kill()
        assert on_disk(tmp_path / "fresh", b'"requestId":"hidden-3"') == []
        server.start()
        found = acklog(server, "audit", "--json", token=AUDITOR).document["records"]
        assert [each["requestId"] for each in found] == ["hidden-3"]


def _encryption(server: ServerProcess) -> str:
    answer = server.request("GET", "/topics/__audit/encryption", headers={"authorization": f"Bearer {ADMIN}"})
    return str(answer.document.get("encryption"))
