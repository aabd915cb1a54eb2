"""A real Prometheus on a free port that scrapes processes of a test every second: Debian's package `prometheus`."""

import contextlib
import http.client
import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import yaml

from tests.support.lasting_ports import lasting_ports
from tests.support.waiting import wait_until

START_SECONDS = 60
BINARY = shutil.which("prometheus")
JOB = "queue"
"""Not everybody's job has the product in its name: no rule may need it."""

_CALM = {"evaluation_interval": "1s", "scrape_interval": "1s", "scrape_timeout": "1s"}


class PrometheusProcess:
    """Asked by HTTP, as Grafana does."""

    def __init__(self, port: int, targets: Path) -> None:
        self._port = port
        self._targets = targets

    def scrape(self, urls: Sequence[str]) -> None:
        """These from now on, and no others; each has /metrics. Prometheus notices by itself."""
        described = [{"targets": [urlsplit(url).netloc for url in urls]}]
        written = self._targets.with_suffix(".new")
        written.write_text(json.dumps(described))
        written.replace(self._targets)

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The samples of an instant query: each has `metric`, and `value` with a time and a text."""
        return list(self._get(f"/api/v1/query?query={quote(expression)}")["result"])

    def query_range(self, expression: str, *, start_s: float, end_s: float, step_s: float) -> list[dict[str, Any]]:
        """The series of a range query: each has `metric`, and `values` with times and texts. Times are since 1970."""
        asked = {"query": expression, "start": start_s, "end": end_s, "step": step_s}
        return list(self._get(f"/api/v1/query_range?{urlencode(asked)}")["result"])

    def firing(self) -> set[str]:
        """The names of the alerts that fire now."""
        alerts = self._get("/api/v1/alerts")["alerts"]
        return {each["labels"]["alertname"] for each in alerts if each["state"] == "firing"}

    def is_ready(self) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self._answer("/-/ready")[0] == 200
        return False

    def _get(self, target: str) -> dict[str, Any]:
        status, body = self._answer(target)
        document = json.loads(body)
        assert status == 200, document
        return dict(document["data"])

    def _answer(self, target: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        with contextlib.closing(connection):
            connection.request("GET", target)
            found = connection.getresponse()
            return found.status, found.read()


@contextmanager
def running_prometheus(
    directory: Path, urls: Sequence[str], *, rules: Path | None = None, token: str = ""
) -> Iterator[PrometheusProcess]:
    """`urls` of processes that have /metrics, and are shown the token. Skips nothing: ask BINARY first. `rules` is a
    file of them."""
    assert BINARY is not None
    directory.mkdir(parents=True, exist_ok=True)
    configuration, targets = directory / "prometheus.yaml", directory.resolve() / "targets.json"
    shown = {"authorization": {"credentials": token}} if token else {}
    jobs = [{"job_name": JOB, "file_sd_configs": [{"files": [str(targets)], "refresh_interval": "1s"}], **shown}]
    document = {"global": _CALM, "scrape_configs": jobs, "rule_files": [str(rules)] if rules is not None else []}
    configuration.write_text(yaml.safe_dump(document))
    [port] = lasting_ports(1)
    command = [BINARY, f"--config.file={configuration}", f"--storage.tsdb.path={directory / 'data'}"]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        try:
            prometheus = PrometheusProcess(port, targets)
            prometheus.scrape(urls)
            wait_until(prometheus.is_ready, seconds=START_SECONDS, what="Prometheus is ready")
            yield prometheus
        finally:
            process.kill()
            process.wait()
