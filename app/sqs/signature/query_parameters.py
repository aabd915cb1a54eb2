"""The parameters of a query, decoded, in the order in which they came."""

from app.sqs.signature.uri_encoding import form_decoded, uri_encoded

QueryParameters = list[tuple[bytes, bytes]]


def query_parameters(raw_query: bytes) -> QueryParameters:
    """Nothing is refused: a parameter without `=` has an empty value, and between two `&` there is none."""
    found = []
    for part in raw_query.split(b"&"):
        if part:
            name, _, value = part.partition(b"=")
            found.append((form_decoded(name), form_decoded(value)))
    return found


def canonical_query(parameters: QueryParameters) -> bytes:
    """Encoded anew and sorted by what comes out, names before values: whichever way a client has written the same
    parameters, it is the same text."""
    encoded = sorted((uri_encoded(name), uri_encoded(value)) for name, value in parameters)
    return b"&".join(name + b"=" + value for name, value in encoded)
