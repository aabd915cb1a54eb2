"""`acklog tokens access-key`: a pair that a tokens file takes as it is printed."""

import json
from collections.abc import Iterator

from acklog.command.access_keys import NewAccessKey
from app.auth.tokens import parse_token_table
from tests.support.command_run import run_command

ENTRY = '[[tokens]]\nname = "billing"\nroles = ["consumer"]\n\n'


def test_it_is_pasted_below_a_token() -> None:
    found = run_command("tokens", "access-key")
    assert found.exit_code == 0
    text = found.stdout
    [key_id] = [line.split('"')[1] for line in text.splitlines() if line.startswith("id")]
    key = parse_token_table((ENTRY + text).encode(), toml=True).access_key(key_id)
    assert key is not None
    assert key.holder.name == "billing"
    assert f'secret = "{key.secret}"' in text
    assert key.secret not in found.stderr


def test_each_is_another_one() -> None:
    made = [json.loads(run_command("tokens", "access-key", "--json").stdout) for _ in range(2)]
    assert [sorted(each) for each in made] == [["id", "secret"]] * 2
    assert made[0]["id"] != made[1]["id"]
    assert made[0]["secret"] != made[1]["secret"]


def test_every_character_is_chosen() -> None:
    def last_of_each(counted: Iterator[int]) -> NewAccessKey:
        return NewAccessKey.made(lambda alphabet: alphabet[-1] if next(counted) >= 0 else "")

    made = last_of_each(iter(range(100)))
    assert made.id == "ACKL" + "7" * 16
    assert made.secret == "9" * 40
    assert made.secret not in repr(made)
