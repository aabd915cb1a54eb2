"""What docs/security.md says of rights is what the server goes by."""

import argparse
import re
import shlex

import httpx2

from acklog.wire.limits import (
    PATTERN_LENGTH_MAX,
    PATTERNS_MAX,
    RIGHTS_MAX,
    ROLES_PER_TOKEN_MAX,
    TOKEN_GRACE_SECONDS_DEFAULT,
    TOKEN_GRACE_SECONDS_MAX,
    TOKEN_NAME_LENGTH_MAX,
)
from acklog.wire.problems import ProblemCode
from app.auth.access_key import ACCESS_KEY_ID_PATTERN, ACCESS_KEY_SECRET_PATTERN, ACCESS_KEYS_PER_TOKEN_MAX
from app.auth.identities import CERTIFICATE_PREFIX, IDENTITY_RIGHTS_MAX, JWT_PREFIX, RULES_MAX
from app.auth.identity_entry import CONDITIONS_MAX
from app.auth.right import ROLES_MAX
from app.auth.roles import BUILT_IN
from app.auth.scopes import Scope
from app.auth.tokens import parse_token_table
from app.auth.tried_rights import TOLD_MAX
from app.configuration.jwt_options import JwtOptions
from app.http.application import create_app
from app.jwt.key_set import KEY_SET_BYTES_MAX, KEYS_MAX
from app.sqs.signature.query_signature import EXPIRES_SECONDS_MAX
from app.sqs.signature.signing_keys import SIGNING_KEYS_MAX
from app.sqs.signature.signing_time import CLOCK_SKEW_MS
from app.sqs.sqs_error import SqsErrorCode
from cluster.catalog.catalog_change import CatalogSettings
from cluster.line_limit import LineLimitSettings
from cluster.model.action import Action
from tests.support.memory_gateway import MemoryWorld
from tests.support.sqs_access import SqsGate
from tests.unit.app.conftest import client_of
from tests.unit.app.http.audit.audited_world import ADMIN, audited_world
from tests.unit.docs.documents import read_document, section, table

PAGE = read_document("security.md")
DEFAULTS = JwtOptions()


def test_its_tokens_files_are_such() -> None:
    files = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert [len(parse_token_table(file.encode(), toml=True)) for file in files] == [1, 2, 0, 1]


def test_actions_roles_and_scopes() -> None:
    assert [row[0] for row in table(section(PAGE, "Rights"))] == [f"`{action.value}`" for action in Action]
    roles = dict(row[:2] for row in table(section(PAGE, "Roles"))[: len(BUILT_IN)])
    assert list(roles) == [f"`{name}`" for name in BUILT_IN]
    for name, [right] in BUILT_IN.items():
        actions = right.allow or ()
        said = "all" if actions == tuple(Action) else ", ".join(action.value for action in actions)
        assert roles[f"`{name}`"] == said
    for scope in Scope:
        assert f"| `{scope.value}` |" in section(PAGE, "Roles")


def test_limits() -> None:
    said = " ".join(section(PAGE, "Roles").split())
    assert f"at most {RIGHTS_MAX} rights, those of its roles among them, and {ROLES_PER_TOKEN_MAX} roles" in said
    assert f"at most {PATTERNS_MAX} patterns of topics and {PATTERNS_MAX} of groups" in said
    assert f"of at most {PATTERN_LENGTH_MAX} characters" in said
    assert f"at most {ROLES_MAX:,} roles" in said
    assert f"{TOLD_MAX:,} different ones" in section(PAGE, "Trying rights out")


def test_what_it_says_of_signed_tokens() -> None:
    said = " ".join(section(PAGE, "Tokens of an identity provider").split())
    assert f"at most {RULES_MAX:,} entries in a file, with {CONDITIONS_MAX} claims each" in said
    assert f"a caller has at most {IDENTITY_RIGHTS_MAX:,} rights" in said
    assert f"`{JWT_PREFIX}` and the claim `{DEFAULTS.jwt_name_claim}`" in said
    good = " ".join(section(PAGE, "When such a token is good").split())
    assert f"{DEFAULTS.jwt_leeway_ms // 1000} s by default" in good
    assert f"{DEFAULTS.jwt_token_bytes_max // 1024} KiB by default" in good
    keys = " ".join(section(PAGE, "The issuer's keys").split())
    assert f"{KEY_SET_BYTES_MAX // 1024} KiB and {KEYS_MAX} keys are the most" in keys
    assert f"every {DEFAULTS.jwt_keys_refresh_ms // 60_000} minutes (`--jwt-keys-refresh-ms`)" in keys
    assert f"{DEFAULTS.jwt_keys_pause_ms // 1000} s ago (`--jwt-keys-pause-ms`)" in keys
    assert f"{DEFAULTS.jwt_keys_good_ms // 3_600_000} hours from the last good answer" in keys
    assert f"{DEFAULTS.jwt_keys_timeout_ms // 1000} s at most (`--jwt-keys-timeout-ms`)" in keys
    assert f"{LineLimitSettings().lines_max} lines a minute of each" in keys
    assert f"called `{CERTIFICATE_PREFIX}`" in section(PAGE, "Certificates of clients")


def test_what_it_says_of_access_keys() -> None:
    part = section(PAGE, "Access keys for SQS clients")
    said = " ".join(part.split())
    for limit, pattern in (("An id has", ACCESS_KEY_ID_PATTERN), ("A secret has", ACCESS_KEY_SECRET_PATTERN)):
        [(least, most)] = re.findall(r"\{(\d+),(\d+)\}", pattern)
        assert f"{limit} {least} to {most} " in said
    assert f"A token has at most {ACCESS_KEYS_PER_TOKEN_MAX} access keys" in said
    good = " ".join(section(PAGE, "When a signature is good").split())
    assert f"differ by {CLOCK_SKEW_MS // 60_000} minutes" in good
    assert f"{EXPIRES_SECONDS_MAX // 86_400} days at most" in good
    assert f"remembers {SIGNING_KEYS_MAX:,} keys" in good


def test_its_access_key_lets_its_client_in() -> None:
    [file] = re.findall(r"^```toml\n(.*?)^```", section(PAGE, "Access keys for SQS clients"), re.MULTILINE | re.DOTALL)
    [(key_id, secret)] = re.findall(r"AWS_ACCESS_KEY_ID=(\S+) AWS_SECRET_ACCESS_KEY=(\S+)", PAGE)
    gate = SqsGate(parse_token_table(file.encode(), toml=True))
    assert gate.admit(gate.signer(key_id, secret, region="us-east-1").signed()).name == "billing"


def test_answers_to_signatures_are_named_as_they_are() -> None:
    rows = table(section(PAGE, "When a signature is good"))
    named = {name for row in rows for name in re.findall(r"`([A-Za-z]+)`", row[0])}
    codes = (
        SqsErrorCode.MISSING_AUTHENTICATION_TOKEN,
        SqsErrorCode.INCOMPLETE_SIGNATURE,
        SqsErrorCode.INVALID_CLIENT_TOKEN_ID,
        SqsErrorCode.SIGNATURE_DOES_NOT_MATCH,
        SqsErrorCode.EXPIRED_TOKEN,
    )
    assert named == {name for code in codes for name in (code.value.shape, code.value.code)}


def test_what_it_says_of_stored_tokens() -> None:
    said = " ".join(section(PAGE, "Stored tokens").split())
    assert f"{TOKEN_GRACE_SECONDS_DEFAULT:,} by default" in said
    assert f"at most {TOKEN_GRACE_SECONDS_MAX // 86_400} days" in said
    assert f"There are at most {CatalogSettings().tokens_max:,}" in said
    assert f"names have at most {TOKEN_NAME_LENGTH_MAX} letters" in said
    codes = [code for code in ProblemCode if "TOKEN" in code.name]
    errors = section(PAGE, "What errors mean")
    assert [code.name for code in codes if f"{code.status} `{code.name}`" not in errors] == []


async def test_its_commands_do_what_they_are_said_to_do() -> None:
    asked, first = re.findall(r"^```sh\n(.*?)^```", section(PAGE, "Stored tokens"), re.MULTILINE | re.DOTALL)
    async with client_of(create_app(audited_world().gateway)) as client:
        answers = [await _curl(client, line) for line in asked.splitlines()]
        assert [each.status_code for each in answers] == [201, 200, 200, 204], [each.text for each in answers]
    async with client_of(create_app(MemoryWorld().gateway)) as client:
        [answer] = [await _curl(client, line) for line in first.splitlines()]
        assert answer.json()["token"].startswith("ak_"), answer.text


async def _curl(client: httpx2.AsyncClient, line: str) -> httpx2.Response:
    """The request that this command would send, by an admin who has set the variables of which the page speaks."""
    options = argparse.ArgumentParser()
    for name in ("-X", "-d", "-H"):
        options.add_argument(name)
    options.add_argument("-s", action="store_true")
    options.add_argument("url")
    variables = {"$ACKLOG_URL": str(client.base_url).rstrip("/"), "$ACKLOG_TOKEN": ADMIN}
    command = re.sub(r"\$\w+", lambda match: variables[match[0]], line)
    program, *arguments = shlex.split(command, comments=True)
    assert program == "curl"
    found = options.parse_args(arguments)
    name, _, value = (found.H or "").partition(": ")
    method = found.X or ("GET" if found.d is None else "POST")
    return await client.request(method, found.url, content=found.d, headers={name: value} if name else None)
