"""Messages as the SDK shows them."""

import msgspec
import pytest

from acklog.messages import Received


@pytest.mark.parametrize("number", ["1e400", "-1e999", "9" * 5000])
def test_a_number_that_nobody_can_read_harms_its_message_only(number: str) -> None:
    """Bodies are kept as they were sent, so whoever reads one may meet anything that JSON can write."""
    template = (
        '{"messageId":"m","queue":"q","partition":0,"offset":%d,"timestamp":1,"appendTime":1,"receipt":"r","body":%s}'
    )
    text = f'{{"messages":[{template % (0, f"[{number}]")},{template % (1, "[1]")}]}}'
    strange, plain = msgspec.json.decode(text, type=Received)
    with pytest.raises(msgspec.ValidationError):
        _ = strange.body
    assert strange.body_bytes == f"[{number}]".encode()
    assert plain.body == [1]
