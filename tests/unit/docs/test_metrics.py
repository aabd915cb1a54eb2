"""The pages name metrics as a scrape has them: counters with `_total`."""

import re

from tests.architecture.source_tree import product_modules, text_files
from tests.unit.docs.documents import REPOSITORY

_MADE = re.compile(r'\b(\w*(?:[Cc]ounter|[Gg]auge|_family|Histogram)\w*)\(\s*f?"(acklog_[a-z_{}]+)"')
_GROUP_NAMES = re.compile(r'^ {12}"([a-z_]+)": "', re.MULTILINE)
_NAMED = re.compile(r"`(acklog_[a-z_]+)`")


def exported_names() -> set[str]:
    names: set[str] = set()
    for module in product_modules():
        for maker, name in _MADE.findall(module.source):
            if name == "acklog_group_{name}":
                names |= {f"acklog_group_{each}" for each in _GROUP_NAMES.findall(module.source)}
            else:
                names.add(f"{name}_total" if "ounter" in maker else name)
    return names


def test_every_metric_that_a_page_names_is_exported_under_that_name() -> None:
    exported = exported_names()
    assert {"acklog_group_lag", "acklog_scheduled_pending", "acklog_http_requests_total"} <= exported
    pages = [path for path, _ in text_files() if path.endswith(".md") and path != "CHANGELOG.md"]
    named = {(path, name) for path in pages for name in _NAMED.findall((REPOSITORY / path).read_text())}
    assert len(named) > 30
    assert sorted(each for each in named if each[1] not in exported) == []
