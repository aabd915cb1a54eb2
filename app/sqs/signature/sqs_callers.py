"""Who makes a request of SQS: by a signature, in a header or in the query, or by a bearer token as elsewhere.

Whoever repeats a signed request within its time is let in again, as at AWS: it is the same request to the letter. So
clients of SQS go by TLS where the network is not theirs.
"""

import re
from collections.abc import Callable, Sequence

from acklog.wire.problems import ProblemCode
from app.auth.access_key import AccessKey
from app.auth.callers import Callers
from app.auth.client_certificate import ClientCertificate
from app.auth.principal import Principal
from app.auth.refused_caller import RefusedCallerError
from app.sqs.signature.header_signature import header_signature
from app.sqs.signature.query_parameters import QueryParameters, query_parameters
from app.sqs.signature.query_signature import ALGORITHM_PARAMETER, query_signature
from app.sqs.signature.received_request import ReceivedRequest
from app.sqs.signature.refused_sqs_caller import RefusedSqsCallerError
from app.sqs.signature.shown_signature import ALGORITHM, ShownSignature
from app.sqs.signature.signature_check import check_signature
from app.sqs.signature.signing_keys import SigningKeys
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError
from cluster.ports.clock import Clock

_AUTHORIZATION, _SESSION_HEADER, _SESSION_PARAMETER = b"authorization", b"x-amz-security-token", b"X-Amz-Security-Token"
_BEARER = re.compile(rb"\Abearer(?: |\Z)", re.IGNORECASE)
_VERSION_2 = re.compile(rb"(?:\A|&)(?:AWSAccessKeyId|SignatureVersion)=")

_MISSING = "Request is missing Authentication Token"
_UNKNOWN = "The security token included in the request is invalid."
_EXPIRED = "The security token included in the request is expired"

Claim = Callable[[bytes], Principal]
"""Who asks, once the body is there. Raises SqsError. Asked again, for a request that waits, it says whether that one
would still be let in."""


class SqsCallers:
    def __init__(self, callers: Callers, clock: Clock) -> None:
        self._callers = callers
        self._clock = clock
        self._signing_keys = SigningKeys()

    def claim_of(
        self,
        method: str,
        raw_path: bytes,
        raw_query: bytes,
        headers: Sequence[tuple[bytes, bytes]],
        *,
        certificate: ClientCertificate | None = None,
    ) -> Claim:
        """Before the body is waited for: nobody is made room for who is refused in any case. Raises SqsError."""
        if self._callers.asks_nobody:
            return self._of_token_or_certificate(None, certificate)
        request = ReceivedRequest(method, raw_path, raw_query, headers)
        if request.times_of(_AUTHORIZATION) > 1:
            raise SqsError(SqsErrorCode.INCOMPLETE_SIGNATURE, "The Authorization header is there more than once.")
        authorization = request.header(_AUTHORIZATION)
        parameters = query_parameters(raw_query) if raw_query else []
        is_presigned = any(name == ALGORITHM_PARAMETER for name, _ in parameters)
        if authorization is not None and is_presigned:
            said = f"the {ALGORITHM_PARAMETER.decode()} query parameter or the Authorization header should be specified"
            raise SqsError(SqsErrorCode.INCOMPLETE_SIGNATURE, f"Only one auth mechanism allowed; only {said}.")
        if is_presigned:
            return self._of_shown(request, query_signature(parameters), parameters)
        if authorization is not None and _BEARER.match(authorization) is None:
            return self._of_shown(request, header_signature(request, authorization), parameters)
        if authorization is None:
            _refuse_version_2(raw_query)
        return self._of_token_or_certificate(authorization, certificate)

    # --- by a signature ----------------------------------------------------------------------------------------------

    def _of_shown(self, request: ReceivedRequest, shown: ShownSignature, parameters: QueryParameters) -> Claim:
        """Raises SqsError."""
        if request.times_of(_SESSION_HEADER) or any(name == _SESSION_PARAMETER for name, _ in parameters):
            said = f"{_UNKNOWN} There are no session tokens here: use an access key without one."
            raise SqsError(SqsErrorCode.INVALID_CLIENT_TOKEN_ID, said)
        self._access_key_of(shown)
        shown.check_all_but_the_signature(request, self._clock.now_ms())
        return lambda body: self._of_signature(request, shown, body)

    def _of_signature(self, request: ReceivedRequest, shown: ShownSignature, body: bytes) -> Principal:
        """Raises SqsError."""
        access_key = self._access_key_of(shown)
        signing_key = self._signing_keys.of(shown.credential, access_key.secret)
        check_signature(request, shown, body=body, signing_key=signing_key)
        self._signing_keys.remember(shown.credential, access_key.secret, signing_key)
        try:
            return self._callers.of_access_key(access_key)
        except ServerError as error:
            raise _translated(error) from None

    def _access_key_of(self, shown: ShownSignature) -> AccessKey:
        """Raises SqsError INVALID_CLIENT_TOKEN_ID."""
        found = self._callers.access_key(shown.credential.key_id)
        if found is None:
            raise SqsError(SqsErrorCode.INVALID_CLIENT_TOKEN_ID, _UNKNOWN)
        return found

    # --- as elsewhere ------------------------------------------------------------------------------------------------

    def _of_token_or_certificate(self, authorization: bytes | None, certificate: ClientCertificate | None) -> Claim:
        """Raises SqsError."""

        def judged(_body: bytes) -> Principal:
            try:
                return self._callers.of(None if authorization is None else authorization.decode("latin-1"), certificate)
            except ServerError as error:
                if authorization is None and error.code is ProblemCode.UNAUTHENTICATED:
                    raise SqsError(SqsErrorCode.MISSING_AUTHENTICATION_TOKEN, _MISSING) from None
                raise _translated(error) from None

        judged(b"")
        return judged


def _refuse_version_2(form: bytes) -> None:
    """A query or a body that is signed in that way; it is unsigned to us. Raises SqsError INCOMPLETE_SIGNATURE."""
    if _VERSION_2.search(form):
        said = f"Signature Version 2 is not supported. Please use {ALGORITHM} (Signature Version 4)."
        raise SqsError(SqsErrorCode.INCOMPLETE_SIGNATURE, said)


def _translated(error: ServerError) -> SqsError:
    """What `Callers` raises."""
    if isinstance(error, RefusedCallerError):
        return RefusedSqsCallerError(SqsErrorCode.EXPIRED_TOKEN, _EXPIRED, error.principal)
    if error.code is ProblemCode.TOKEN_EXPIRED:
        return SqsError(SqsErrorCode.EXPIRED_TOKEN, _EXPIRED)
    if error.code is ProblemCode.UNAUTHENTICATED:
        return SqsError(SqsErrorCode.INVALID_CLIENT_TOKEN_ID, error.detail)
    return SqsError(SqsErrorCode.SERVICE_UNAVAILABLE, error.detail, retry_after_ms=error.retry_after_ms)
