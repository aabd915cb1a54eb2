"""Clients that well-known generators make of openapi.yaml send, receive and acknowledge."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.support.server_process import REPOSITORY, ServerProcess

pytestmark = pytest.mark.integration

SECONDS_MAX = 180
DESCRIPTION = REPOSITORY / "openapi.yaml"
# A tool of its own environment: its requirements are not ours. What the clients import at run time comes with it.
PYTHON_GENERATOR = "openapi-python-client==0.29.1"
NPM_PACKAGES = ("openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3")
OFFLINE = ("dns error", "Failed to fetch", "Could not connect", "ENOTFOUND", "ECONNREFUSED", "EAI_AGAIN", "ETIMEDOUT")
PYTHON_PROGRAM = """
import sys
from generated import Client
from generated.api.messages import receive_messages, send_messages
from generated.api.settlements import acknowledge
from generated.api.topics import put_topic
from generated.models import AckRequest, Message, SendRequest, Stored, StoredBatch, TopicFields

client = Client(sys.argv[1])
topic = put_topic.sync(topic="generated", client=client, body=TopicFields(partitions=1))
assert (topic.name, topic.partitions) == ("generated", 1), topic
one = send_messages.sync(client=client, body=SendRequest(queue="generated", body={"n": 1}, key="k"))
assert isinstance(one, Stored) and one.offset == 0, one
several = send_messages.sync(
    client=client, body=SendRequest(queue="generated", messages=[Message(body=n) for n in (2, 3)])
)
assert isinstance(several, StoredBatch) and [each.offset for each in several.results] == [1, 2], several
got = receive_messages.sync(client=client, queue=["generated"], group="g", max_=10, wait_seconds=5)
receipts = [each.receipt for each in got.messages]
settled = acknowledge.sync(client=client, body=AckRequest(receipts=receipts))
assert [each.status for each in settled.results] == ["acknowledged"] * 3, settled
again = receive_messages.sync(client=client, queue=["generated"], group="g")
print(len(got.messages), len(again.messages))
"""
TYPESCRIPT_PROGRAM = """
import createClient from "openapi-fetch";
import type { paths } from "./acklog";

const client = createClient<paths>({ baseUrl: process.argv[2] });
const sent = await client.POST("/messages", { body: { queue: "typed", body: { n: 1 }, key: "k" } });
const got = await client.GET("/messages", { params: { query: { queue: ["typed"], group: "g", waitSeconds: 5 } } });
const answer = got.data;
const receipts = typeof answer === "object" ? answer.messages.map((message) => message.receipt ?? "") : [];
const acked = await client.POST("/ack", { body: { receipts } });
console.log(sent.response.status, receipts.length, acked.response.status);
"""


def ran(command: list[str | Path], folder: Path) -> str:
    """What it prints. Skips the test where what it needs cannot be downloaded."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    output = done.stdout + done.stderr
    if done.returncode and any(mark in output for mark in OFFLINE):
        pytest.skip(f"{command[0]} could not download what it needs")
    assert done.returncode == 0, output
    return output


def test_a_python_client(shared_server: ServerProcess, tmp_path: Path) -> None:
    tool = [Path(sysconfig.get_path("scripts")) / "uv", "tool", "run", "--quiet", "--from", PYTHON_GENERATOR]
    generate = ["openapi-python-client", "generate", "--path", DESCRIPTION, "--output-path", "generated"]
    said = ran([*tool, *generate, "--meta", "none"], tmp_path)
    assert said.count("WARNING") <= 1, said  # of lines of JSON, which it knows nothing of
    assert "Unable to process" not in said, said
    (tmp_path / "program.py").write_text(PYTHON_PROGRAM)
    assert ran([*tool, "python", "program.py", shared_server.base_url], tmp_path) == "3 0\n"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_a_typescript_client(shared_server: ServerProcess, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"type": "module", "private": true}')
    ran(["npm", "install", "--no-audit", "--no-fund", "--silent", *NPM_PACKAGES], tmp_path)
    programs = tmp_path / "node_modules/.bin"
    ran([programs / "openapi-typescript", DESCRIPTION, "--output", "acklog.d.ts"], tmp_path)
    (tmp_path / "program.ts").write_text("declare const process: { argv: string[] };\n" + TYPESCRIPT_PROGRAM)
    options = ["--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler"]
    ran([programs / "tsc", *options, "--skipLibCheck", "program.ts"], tmp_path)
    assert ran(["node", "program.js", shared_server.base_url], tmp_path) == "201 1 200\n"
