"""What `/docs` copies as Python sends what the page sends: each example runs against a server that notes what comes."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from app.http.description.openapi import openapi_document
from app.http.openapi_file import standalone_app
from tests.integration.console.conftest import OpenPage
from tests.support.server_process import REPOSITORY, ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]

SDK_EXAMPLES_MIN = 30
RUN_SECONDS = 120
HELD_BACK = {"max": "10", "limit": "1000"}
"""What the SDK says where nothing is said, and the server takes to be so, too."""

# Every example of every call: the plan of the page, and its Python.
PROGRAMS = """async ([document, root]) => {
  const start = document_start();
  const load = (module) => import(new URL(module, start));
  const [{ apiOf }, { exampleText, filledFor }, { planOf }, { pythonOf }] = await Promise.all(
    ["api_document", "filled", "request_plan", "python"].map((each) => load(`documentation/model/${each}.js`)),
  );
  const made = [];
  for (const call of apiOf(document).calls.values()) {
    const bodies = call.bodies.flatMap(({ mediaType, examples }) =>
      examples.map((each) => ({ mediaType, body: exampleText(each, {}) })));
    for (const body of bodies.length ? bodies : [{}]) {
      const filled = { ...filledFor(call, {}), ...body };
      const plan = planOf(call, filled, root);
      made.push({ id: call.id, plan, python: pythonOf(call, filled, plan, { hasToken: false, root }) });
    }
  }
  return made;
  function document_start() { return globalThis.document.querySelector("script[type=module]").src; }
}"""


RUNNER = """
import json, sys
for text in json.load(sys.stdin):
    try:
        exec(text, {})
    except Exception as error:
        print(repr(error))
"""


class Recorder(BaseHTTPRequestHandler):
    """Notes each request, and answers that there is nothing."""

    noted: list[dict[str, Any]]
    protocol_version = "HTTP/1.1"

    def note(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.noted.append({"method": self.command, "path": self.path, "body": self.rfile.read(length)})
        content = b'{"code":"NOT_FOUND","title":"none","status":404,"detail":"none","retriable":false}'
        self.send_response(404)
        self.send_header("Content-Type", "application/problem+json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with suppress(BrokenPipeError):  # who has read the status may have gone
            self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = note  # noqa: N815 (names that the library gives)

    def log_message(self, *_: object) -> None:
        """Nowhere."""


@pytest.fixture
def recorder() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    noted: list[dict[str, Any]] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Noting", (Recorder,), {"noted": noted}))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", noted
    server.shutdown()
    server.server_close()


def asked(method: str, url: str, body: bytes | None) -> tuple[str, str, dict[str, list[str]], object]:
    """A request as servers understand it: one receipt is a list of one, and defaults may be said."""
    parts = urlsplit(url)
    query = {name: values for name, values in parse_qs(parts.query).items() if values != [HELD_BACK.get(name)]}
    try:
        document = json.loads(body or b"null")
    except ValueError:
        document = body
    if isinstance(document, dict):
        for one, several in (("receipt", "receipts"), ("messageId", "messageIds")):
            if one in document and (one == "receipt" or parts.path == "/ack"):
                document[several] = [document.pop(one)]
        document = {name: value for name, value in document.items() if value not in (None, {}, False)}
    return method, parts.path, query, document or None


def test_every_example_in_python_sends_what_the_page_sends(
    shop: ServerProcess, open_page: OpenPage, recorder: tuple[str, list[dict[str, Any]]]
) -> None:
    root, noted = recorder
    page = open_page(shop.base_url, path="/docs").page
    made = page.evaluate(PROGRAMS, [openapi_document(standalone_app()), root])
    assert sum("import acklog" in each["python"] for each in made) >= SDK_EXAMPLES_MIN
    programs = json.dumps([each["python"] for each in made])
    subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=programs,
        text=True,
        timeout=RUN_SECONDS,
        check=True,
        capture_output=True,
        env={"PYTHONPATH": str(REPOSITORY)},
    )
    sent = [asked(each["method"], each["path"], each["body"]) for each in noted]
    wanted = [
        asked(each["plan"]["method"], each["plan"]["url"], (each["plan"]["body"] or "").encode() or None)
        for each in made
    ]
    assert len(sent) == len(wanted), [each["id"] for each in made]
    others = [
        (each["python"], found, expected)
        for found, expected, each in zip(sent, wanted, made, strict=True)
        if found != expected
    ]
    assert others == []
