"""What a gateway goes by that is started while others go on."""

import pytest

from app.configuration.configured_process import configure
from app.configuration.reloading import told, told_since

PATH = "acklog.toml"


def told_after(first: str, later: str) -> dict[str, object]:
    """All settings of a gateway that is started when the file has changed."""
    contents = [first.encode()]
    process = configure(
        "serve", {}, ["--config", PATH], read_file=lambda _path: contents[-1], exists=lambda _path: True
    )
    contents.append(later.encode())
    found = told_since(process)
    assert found.fixed == told(process).fixed
    return dict(found.live)


def test_what_can_change_is_as_it_is_now_and_the_rest_as_at_the_start() -> None:
    live = told_after("[serve]\nno_console = false\nport = 1\n", "[serve]\nno_console = true\nport = 2\n")
    assert live["no_console"] is True
    assert "port" not in live


@pytest.mark.parametrize(
    ("first", "later", "expected"),
    [
        ('tokens_file = "a"', 'tokens_file = "b"', "b"),
        ('tokens_file = "a"', "", "a"),
        ("", 'tokens_file = "b"', ""),
        ('tokens_file = "a"\nrequire_tokens = true', "require_tokens = true", ""),
        ("require_tokens = true", 'tokens_file = "b"\nrequire_tokens = true', "b"),
    ],
)
def test_whether_it_asks_for_tokens_is_as_at_the_start(first: str, later: str, expected: str) -> None:
    assert told_after(f"[serve]\n{first}\n", f"[serve]\n{later}\n")["tokens_file"] == expected
