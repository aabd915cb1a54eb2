"""Requests that AWS has published signatures of, so that implementations can be compared: all with one key, of one
moment. Each is made here from what it is about."""

from dataclasses import dataclass, replace

import pytest

from app.sqs.signature.header_signature import header_signature
from app.sqs.signature.received_request import ReceivedRequest
from app.sqs.signature.signature_check import check_signature
from app.sqs.signature.signing_keys import SigningKeys
from app.sqs.sqs_error import SqsError, SqsErrorCode

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
SCOPE = "AKIDEXAMPLE/20150830/us-east-1/service/aws4_request"
BASE = ((b"host", b"example.amazonaws.com"), (b"x-amz-date", b"20150830T123600Z"))


@dataclass(frozen=True)
class Example:
    signature: str
    method: str = "GET"
    path: bytes = b"/"
    query: bytes = b""
    more: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""

    def request(self) -> ReceivedRequest:
        return ReceivedRequest(self.method, self.path, self.query, (*BASE, *self.more))


EXAMPLES = {
    "nothing but what has to be": Example("5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    "POST": Example("5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b", method="POST"),
    "parameters in another order": Example(
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500", query=b"Param2=value2&Param1=value1"
    ),
    "a path beyond ASCII": Example(
        "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85", path="/\u1234".encode()
    ),
    "a query beyond ASCII": Example(
        "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04", query="\u1234=bar".encode()
    ),
    "a header of several values": Example(
        "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
        more=((b"my-header1", b"value2"), (b"my-header1", b"value2"), (b"my-header1", b"value1")),
    ),
    "values with room around and in them": Example(
        "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
        more=((b"my-header1", b" value1"), (b"my-header2", b' "a   b   c"')),
    ),
    "characters that stay": Example(
        "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
        path=b"/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    ),
    "a space in the path": Example(
        "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741", path=b"/example space/"
    ),
    "a form": Example(
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        method="POST",
        more=((b"content-type", b"application/x-www-form-urlencoded"),),
        body=b"Param1=value1",
    ),
    "back to the root": Example(
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31", path=b"/example1/example2/../.."
    ),
    "slashes alone": Example("5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31", path=b"/./"),
}


def check(example: Example) -> None:
    request = example.request()
    names = b";".join(sorted({name for name, _ in request.headers})).decode()
    text = f"AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders={names}, Signature={example.signature}"
    shown = header_signature(request, text.encode())
    key = SigningKeys().of(shown.credential, SECRET)
    check_signature(request, shown, body=example.body, signing_key=key)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_signature_is_the_one_that_was_published(name: str) -> None:
    check(EXAMPLES[name])


@pytest.mark.parametrize("name", EXAMPLES)
def test_and_no_other_one(name: str) -> None:
    example = EXAMPLES[name]
    last = "0" if example.signature[-1] != "0" else "1"
    with pytest.raises(SqsError) as refused:
        check(replace(example, signature=example.signature[:-1] + last))
    assert refused.value.code is SqsErrorCode.SIGNATURE_DOES_NOT_MATCH
