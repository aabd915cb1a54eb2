"""How SQS's parsers refuse: by a code that blames the client, in a few words that XML can say."""

from xml.etree import ElementTree

from app.sqs.protocol.xml_output import error_document
from app.sqs.sqs_error import SqsError
from tests.fuzz.promise import DETAIL_CHARACTERS_MAX


def check_refusal(error: SqsError) -> None:
    fault = error.code.value
    assert 400 <= fault.status < 500
    assert fault.is_senders
    assert len(error.message) <= DETAIL_CHARACTERS_MAX
    ElementTree.fromstring(error_document(error, "id"))
