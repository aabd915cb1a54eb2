"""The recipe docs/recipes/log-shipper.md, by sh and curl: answers that get lost, kills, rotation, a clean stop."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from acklog import Client
from tests.support.lossy_proxy import LossyProxy
from tests.support.recipe import Recipe
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("recipes-log-shipper"),
    pytest.mark.skipif(not shutil.which("curl"), reason="the recipe uses curl"),
]

WAIT_SECONDS = 60
SHIP = ("sh", "log_shipper/ship.sh", "app.log")


@pytest.fixture
def recipe(shared_server: ServerProcess, tmp_path: Path) -> Recipe:
    return Recipe("log-shipper.md", tmp_path, shared_server.base_url)


def bodies(server: ServerProcess, topic: str) -> list[str]:
    """Of a topic with one partition: in the order of the log."""
    with Client(server.base_url) as client:
        return [message.body for message in client.records(topic, 0, offset=0).messages]


def make_topic(server: ServerProcess, topic: str) -> None:
    with Client(server.base_url) as client:
        client.topics.create(topic, 1)


def wait_for_lines(server: ServerProcess, topic: str, lines: list[str]) -> None:
    wait_until(lambda: len(bodies(server, topic)) >= len(lines), seconds=WAIT_SECONDS, what=f"the lines in {topic}")
    assert bodies(server, topic) == lines


def append(path: Path, *lines: str) -> None:
    with path.open("a") as file:
        file.writelines(f"{line}\n" for line in lines)


def wait_for_state(path: Path, is_reached: Callable[[list[str]], bool]) -> None:
    wait_until(
        lambda: path.exists() and is_reached(path.read_text().split()), seconds=WAIT_SECONDS, what="the state file"
    )


def test_lines_arrive_once_and_in_order_over_lost_answers(shared_server: ServerProcess, recipe: Recipe) -> None:
    make_topic(shared_server, "lossy-logs")
    log = recipe.directory / "app.log"
    lines = [f"line {number}" for number in range(100)]
    append(log, *lines)
    with LossyProxy("127.0.0.1", shared_server.port, ["lose the answer", "refuse"]) as proxy:
        recipe.url = proxy.url
        with recipe.program(*SHIP, "lossy-logs") as shipper:
            wait_for_state(log.with_name("app.log.shipped"), lambda state: state[2:] == [str(log.stat().st_size), "0"])
            append(log, "one more")
            wait_for_lines(shared_server, "lossy-logs", [*lines, "one more"])
            assert shipper.terminate() == 0
        assert len(proxy.keys) == 4
        assert len(set(proxy.keys[:3])) == 1, "a retry is the same request"
    assert "status 000, trying again" in shipper.output
    assert "status 503, trying again" in shipper.output


def test_what_was_sent_before_a_kill_is_not_stored_again(shared_server: ServerProcess, recipe: Recipe) -> None:
    make_topic(shared_server, "killed-logs")
    log = recipe.directory / "app.log"
    append(log, "one", "two")
    with LossyProxy("127.0.0.1", shared_server.port, ["lose the answer"]) as proxy:
        recipe.url = proxy.url
        with recipe.program(*SHIP, "killed-logs") as shipper:
            shipper.wait_for("status 000")
            shipper.kill()
    assert bodies(shared_server, "killed-logs") == ["one", "two"]
    append(log, "three")
    recipe.url = shared_server.base_url
    with recipe.program(*SHIP, "killed-logs") as shipper:
        wait_for_lines(shared_server, "killed-logs", ["one", "two", "three"])
        assert shipper.terminate() == 0


def test_any_line_arrives_as_it_is(shared_server: ServerProcess, recipe: Recipe) -> None:
    make_topic(shared_server, "odd-logs")
    log = recipe.directory / "app.log"
    with recipe.program(*SHIP, "odd-logs") as shipper:
        log.write_bytes(b'a "quote", a \\ and a\ttab\r\n\n\xc3\xa4\xff\x00\x1b[0m & $HOME `ls` %s\n' + b"x" * 300_000)
        wait_until(lambda: len(bodies(shared_server, "odd-logs")) >= 3, seconds=WAIT_SECONDS, what="three lines")
        with log.open("ab") as file:
            file.write(b"\nend\n")
        expected = ['a "quote", a \\ and a\ttab', "", "ä[0m & $HOME `ls` %s", "x" * 262_144, "x" * 37_856, "end"]
        wait_for_lines(shared_server, "odd-logs", expected)
        assert shipper.terminate() == 0, shipper.output


def test_a_rotated_file_is_finished_first(shared_server: ServerProcess, recipe: Recipe) -> None:
    make_topic(shared_server, "rotated-logs")
    log = recipe.directory / "app.log"
    append(log, "one")
    with recipe.program(*SHIP, "rotated-logs") as shipper:
        wait_for_lines(shared_server, "rotated-logs", ["one"])
        assert shipper.terminate() == 0
    append(log, "two")
    log.rename(log.with_name("app.log.1"))
    append(log, "three")
    with recipe.program(*SHIP, "rotated-logs") as shipper:
        wait_for_lines(shared_server, "rotated-logs", ["one", "two", "three"])
        assert shipper.terminate() == 0


def test_what_cannot_become_right_ends_it(recipe: Recipe) -> None:
    append(recipe.directory / "app.log", "one")
    with recipe.program(*SHIP, "no/such/name") as shipper:
        assert shipper.process.wait(WAIT_SECONDS) == 1
    assert "INVALID_NAME" in shipper.output
