"""What is cut out of a record as it is written."""

import json

import pytest

from app.audit.audit_record import AuditedPrincipal, AuditRecord, AuditResult
from app.audit.record_text import decode_record, encode_record

ID, SECRET = "2nehaadj6b1yg", "k" * 52
STORED = f"ak_{ID}_{SECRET}"
OF_FILE = 'a token of the file / "quoted"'
JWT = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJqaW0ifQ.c2lnbmF0dXJlLXRoYXQtY291bnRz"


def encoded(text: str) -> str:
    record = AuditRecord(
        id="1" * 16,
        time=1,
        result=AuditResult.FAILED,
        names={"topic": text},
        request_id=text,
        detail=f"the token has no right to manage on topic {text!r}",
        asked={"rights": [{"topics": [text]}], "offsets": {text: 1}},
        changed={"settings.filter": [None, text]},
    )
    return encode_record(record, lambda each: each == OF_FILE).decode()


@pytest.mark.parametrize(
    ("text", "secret", "left"),
    [
        (STORED, SECRET, f"ak_{ID}_..."),
        (STORED.upper(), SECRET.upper(), f"AK_{ID.upper()}_..."),
        (f"shop/{STORED}.dlq", SECRET, f"shop/ak_{ID}_....dlq"),
        (STORED[:40], SECRET[:20], f"ak_{ID}_..."),
        (JWT, "eyJ", "(a token)"),
        (f"Bearer {JWT}", "eyJ", "Bearer (a token)"),
        (JWT[:-30], "eyJ", "(a token)"),
        (OF_FILE, "of the file", "(a token)"),
    ],
)
def test_a_token_wherever_it_stands(text: str, secret: str, left: str) -> None:
    found = encoded(text)
    assert secret not in found
    document = json.loads(found)
    assert document["names"] == {"topic": left}
    assert document["asked"] == {"rights": [{"topics": [left]}], "offsets": {left: 1}}
    assert document["requestId"] == document["changed"]["settings.filter"][1] == left


@pytest.mark.parametrize("name", ["orders", "eyJ", "eyJ.orders", "ak_orders", "ak_2nehaadj6b1yg", "shop/eyJorders.dlq"])
def test_what_is_none_stays(name: str) -> None:
    assert json.loads(encoded(name))["names"] == {"topic": name}


def test_a_record_without_one_is_as_it_was() -> None:
    record = AuditRecord(
        id="1" * 16,
        time=1,
        result=AuditResult.ALLOWED,
        principal=AuditedPrincipal("anna", "stored", ID),
        changed={"partitions": [1, 2]},
    )
    assert decode_record(encode_record(record, lambda _text: False)) == record
