"""Why a signed token is not taken."""

from enum import Enum


class JwtRefusal(Enum):
    """The values are labels, and what a server's log says."""

    FORM = "form"  # it is no JWT, or one with a header that nobody here understands
    LENGTH = "length"
    ALGORITHM = "algorithm"
    KEY = "key"  # its issuer has no such key
    SIGNATURE = "signature"
    EXPIRED = "expired"
    NOT_YET_VALID = "not_yet_valid"
    ISSUER = "issuer"
    AUDIENCE = "audience"
    CLAIMS = "claims"  # one that is needed is missing, or is of another type
    RULES = "rules"  # a rule is for it and cannot be applied


class JwtRefusedError(Exception):
    """The text is for the log. Up to the signature it is nobody's: whoever made it up learns nothing of it. `told` is
    for who shows a token that the issuer has signed; `name` is whose it is, where it was signed for us."""

    def __init__(self, reason: JwtRefusal, detail: str, *, told: str = "", name: str = "") -> None:
        super().__init__(detail)
        self.reason = reason
        self.told = told
        self.name = name
