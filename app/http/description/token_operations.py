"""What openapi.yaml says of tokens."""

from acklog.wire.problems import ProblemCode
from app.http.description.operation import FROM_COORDINATION, OF_ANY_TOKEN, WITH_BODY, WITH_TOKEN, Operation, json_of
from app.http.parsing.tokens import CAN_QUERY, TOKENS_QUERY

_P = ProblemCode

_OF_TOKEN = (*WITH_TOKEN, *FROM_COORDINATION, _P.TOKEN_NOT_FOUND)

TOKEN_OPERATIONS: dict[str, Operation] = {
    "listTokens": Operation(
        "Stored tokens, by name; those of the tokens file are not among them",
        {200: ("A page of them", json_of("TokenListing"))},
        WITH_TOKEN,
        query=TOKENS_QUERY,
    ),
    "createToken": Operation(
        "Make a token for all gateways, and be told it, once",
        {201: ("The token", json_of("TokenMade"))},
        (*WITH_TOKEN, *WITH_BODY, *FROM_COORDINATION, _P.INVALID_NAME, _P.TOKEN_EXISTS, _P.TOO_MANY_TOKENS),
        body=json_of("TokenFields"),
    ),
    "describeToken": Operation(
        "A stored token, without its secret",
        {200: ("The token", json_of("TokenView"))},
        _OF_TOKEN,
    ),
    "rotateToken": Operation(
        "Give a token another secret; the one that was good until now stays so for a while",
        {200: ("The token, with the new secret in it", json_of("TokenMade"))},
        (*_OF_TOKEN, *WITH_BODY, _P.TOKEN_ROTATING, _P.TOKEN_OVER),
        body=json_of("RotateFields"),
        is_body_required=False,
    ),
    "revokeToken": Operation(
        "Let nobody in with a token any more",
        {204: ("It is gone; each gateway knows it as soon as it hears of it", {})},
        (*_OF_TOKEN, _P.INVALID_NAME),
    ),
    "describeOwnToken": Operation(
        "What the token that asks may do",
        {200: ("Its rights", json_of("OwnTokenView"))},
        OF_ANY_TOKEN,
    ),
    "askOfOwnToken": Operation(
        "Whether the token that asks may do something, and which right says so",
        {200: ("What is decided", json_of("DecisionView"))},
        (*OF_ANY_TOKEN, _P.MISSING_FIELD, _P.INVALID_NAME),
        query=CAN_QUERY,
    ),
    "askOfToken": Operation(
        "Whether a token may do something, and which right says so",
        {200: ("What is decided", json_of("DecisionView"))},
        (*_OF_TOKEN, _P.MISSING_FIELD, _P.INVALID_NAME),
        query=CAN_QUERY,
    ),
}
