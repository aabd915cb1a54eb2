import pytest

from acklog.wire.problems import ProblemCode
from app.http.parsing.accept import chosen_type
from cluster.errors import ServerError

JSON = "application/json"
LINES = "application/x-ndjson"


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, JSON),
        ("", JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        (LINES, LINES),
        (LINES.upper(), LINES),
        (f"text/html, {LINES}", LINES),
        (f"{JSON};q=0.5, {LINES}", LINES),
        (f"{JSON};q=0.5, {LINES};q=0.4", JSON),
        (f"*/*;q=0.1, {LINES};q=0.2", LINES),
        (f"{JSON};q=0, */*", LINES),
        (f"{JSON};q=nonsense", JSON),
    ],
)
def test_the_best_liked_type_is_chosen(accept: str | None, chosen: str) -> None:
    assert chosen_type(accept, (JSON, LINES)) == chosen


@pytest.mark.parametrize("accept", ["text/html", f"{JSON};q=0", "application", ";;;"])
def test_nothing_that_can_be_made(accept: str) -> None:
    with pytest.raises(ServerError) as caught:
        chosen_type(accept, (JSON,))
    assert caught.value.code is ProblemCode.NOT_ACCEPTABLE
