from pathlib import Path

from storage.delivery.states import MessageEvent, MessageState, accepts, render_diagram, render_table

DOCUMENT = Path(__file__).parents[4] / "docs" / "delivery.md"


def test_the_document_shows_the_diagram_and_the_table() -> None:
    text = DOCUMENT.read_text()
    assert f"```mermaid\n{render_diagram()}```" in text
    assert render_table() in text


def test_an_ack_is_accepted_in_every_state() -> None:
    assert all(accepts(state, MessageEvent.ACK) for state in MessageState)


def test_what_is_settled_takes_nothing_back() -> None:
    for state in (MessageState.DONE, MessageState.DEAD_LETTERED):
        assert not accepts(state, MessageEvent.NACK)
        assert not accepts(state, MessageEvent.EXTEND)
