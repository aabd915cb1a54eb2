"""The pages name metrics as a scrape has them: counters with `_total`."""

import re

from app.http.exchange.turns import at_once
from app.workers.merged_exposition import merged_exposition
from tests.architecture.source_tree import text_files
from tests.unit.docs.documents import REPOSITORY

_TOLD = re.compile(r"^\| `(acklog_[a-z_]+)` \|", re.MULTILINE)
_NAMED = re.compile(r"`(acklog_[a-z_]+)`")


def exported_names() -> set[str]:
    """By the table that the processes themselves fill in (a test fails when it is stale), and what a server of several
    adds to the metrics of its processes."""
    pages = [(REPOSITORY / "docs" / name).read_text() for name in ("metrics.md", "mirror.md")]
    added = re.findall(r"^# TYPE (\w+) ", at_once(merged_exposition({"gateway-1": b""})).decode(), re.MULTILINE)
    return {name for page in pages for name in _TOLD.findall(page)} | {*added}


def test_every_metric_that_a_page_names_is_exported_under_that_name() -> None:
    exported = exported_names()
    assert {"acklog_group_lag", "acklog_scheduled_pending", "acklog_http_requests_total"} <= exported
    pages = [path for path, _ in text_files() if path.endswith(".md") and path != "CHANGELOG.md"]
    named = {(path, name) for path in pages for name in _NAMED.findall((REPOSITORY / path).read_text())}
    assert len(named) > 30
    assert sorted(each for each in named if each[1] not in exported) == []
