"""How the clients of the fault tests take what they are told."""

import pytest

from tests.integration.traffic import Reply
from tests.sim.history import Outcome


@pytest.mark.parametrize(
    ("status", "code", "outcome"),
    [
        (0, "", Outcome.UNKNOWN),
        (200, "", Outcome.OK),
        (207, "", Outcome.OK),
        (207, "RECEIPT_STALE", Outcome.FAILED),
        (207, "UNAVAILABLE", Outcome.FAILED),
        (207, "OUTCOME_UNKNOWN", Outcome.UNKNOWN),
        (503, "NOT_ENOUGH_REPLICAS", Outcome.FAILED),
        (504, "OUTCOME_UNKNOWN", Outcome.UNKNOWN),
        (500, "ANYTHING", Outcome.UNKNOWN),
    ],
)
def test_what_became_of_an_item(status: int, code: str, outcome: Outcome) -> None:
    reply = Reply(0, 1, status, {})
    assert reply.outcome({"code": code} if code else {}) == (outcome, code)
