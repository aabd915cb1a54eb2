import pytest

from cluster.lifecycle import Lifecycle, LifecycleError

IN_ORDER = [Lifecycle.OPENING, Lifecycle.SERVING, Lifecycle.DRAINING, Lifecycle.FAILED, Lifecycle.CLOSING]


def test_an_orderly_life() -> None:
    stage = Lifecycle.OPENING
    for following in (Lifecycle.SERVING, Lifecycle.DRAINING, Lifecycle.CLOSING, Lifecycle.CLOSED):
        stage = stage.then(following)
    assert stage is Lifecycle.CLOSED


@pytest.mark.parametrize("stage", IN_ORDER[:3])
def test_whatever_is_not_closed_may_fail_and_is_then_closed(stage: Lifecycle) -> None:
    assert stage.then(Lifecycle.FAILED).then(Lifecycle.CLOSING) is Lifecycle.CLOSING


@pytest.mark.parametrize("stage", IN_ORDER[:4])
def test_a_start_that_is_given_up_is_closed_from_any_stage(stage: Lifecycle) -> None:
    assert stage.may_become(Lifecycle.CLOSING)


@pytest.mark.parametrize("stage", list(Lifecycle))
def test_nothing_comes_twice_and_nothing_goes_back(stage: Lifecycle) -> None:
    with pytest.raises(LifecycleError):
        stage.then(stage)
    with pytest.raises(LifecycleError):
        stage.then(Lifecycle.OPENING)


@pytest.mark.parametrize("stage", list(Lifecycle))
def test_nothing_follows_the_end(stage: Lifecycle) -> None:
    with pytest.raises(LifecycleError, match=f"closed is not followed by {stage.value}"):
        Lifecycle.CLOSED.then(stage)


@pytest.mark.parametrize(
    ("stage", "following"),
    [
        (Lifecycle.DRAINING, Lifecycle.SERVING),
        (Lifecycle.FAILED, Lifecycle.SERVING),
        (Lifecycle.CLOSING, Lifecycle.FAILED),
        (Lifecycle.SERVING, Lifecycle.CLOSED),
    ],
)
def test_what_would_hide_something_is_refused(stage: Lifecycle, following: Lifecycle) -> None:
    with pytest.raises(LifecycleError):
        stage.then(following)
