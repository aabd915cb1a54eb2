"""The tokens file, in JSON and in TOML."""

from app.auth.tokens import TokensFileError, parse_token_table
from cluster.model.action import Action
from tests.fuzz.fuzz_target import FuzzTarget

_JSON, _TOML = b"j", b"t"
_SEEDS = (
    _JSON + b'{"tokens":[{"name":"shop","token":"in plain text, to try","roles":["producer"],"topics":["orders.*"]}]}',
    _JSON + b'{"tokens":[{"name":"a","sha256":"%b","scopes":["read"],"groups":["[ab]*"]}]}' % (b"0a" * 32),
    _JSON
    + b'{"tokens":[],"roles":{"clerk":[{"allow":["send"],"topics":["orders.*"]},{"deny":["look"],"cluster":true}]}}',
    _JSON + b'\xef\xbb\xbf{"tokens":[{"name":"a","token":"0123456789abcdef","roles":["admin"],"bytesPerSecond":5}]}',
    _TOML + b'[[tokens]]\nname = "billing"\ntoken = "in plain text, to try"\n'
    b'rights = [{allow = ["receive"], topics = ["o.*"], groups = ["billing"]}, {deny = ["send"], topics = ["*"]}]\n',
    _TOML + b'[[roles.clerk]]\nallow = ["send"]\ntopics = ["a"]\n\n[[tokens]]\nname = "desk"\nroles = ["clerk"]\n'
    b'token = "in plain text, to try"\nexpiresAt = 2031-12-31T23:59:59Z\nrequestsPerSecond = 1_000\n',
    _TOML + b'[[tokens]]\nname = "queue"\nroles = ["consumer"]\n\n[[tokens.accessKeys]]\nid = "AKIDEXAMPLE00000"\n'
    b'secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"\n',
    _TOML + b"tokens = []",
    _TOML + b'tokens = [{name = "a", roles = ["admin"], sha256 = 0x00}]',
)


def _read(data: bytes) -> None:
    table = parse_token_table(data[1:], toml=data[:1] == _TOML)
    assert table.is_same_as(parse_token_table(data[1:], toml=data[:1] == _TOML))
    assert table.find("a token that nobody has") is None
    assert table.access_key("AKIDNOBODY000000") is None
    assert sum(len(table.named(name)) for name in table.names()) == len(table)
    for name in table.names():
        for principal in table.named(name):
            for action in Action:
                principal.may_on_topic(action, "orders")
                principal.may_on_group(action, "mail")


TARGET = FuzzTarget(_read, (TokensFileError,), lambda: _SEEDS)
