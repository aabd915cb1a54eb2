import pytest

from storage.log.leader_epochs import LeaderEpochs, leader_epochs_from_bytes


def epochs_of(*entries: tuple[int, int], log_end: int) -> LeaderEpochs:
    epochs = LeaderEpochs(list(entries))
    epochs.log_end = log_end
    return epochs


@pytest.mark.parametrize(
    ("epoch", "answer"), [(6, (-1, -1)), (5, (5, 50)), (4, (3, 20)), (3, (3, 20)), (2, (2, 0)), (-1, (-1, -1))]
)
def test_the_answer_names_the_newest_known_epoch_up_to_the_asked_one(epoch: int, answer: tuple[int, int]) -> None:
    assert epochs_of((3, 0), (5, 20), log_end=50).end_offset_for(epoch) == answer


def test_an_empty_log_knows_no_epoch() -> None:
    assert epochs_of(log_end=0).end_offset_for(0) == (-1, -1)
    assert epochs_of(log_end=0).last_epoch == -1


def test_noting_and_cutting() -> None:
    epochs = LeaderEpochs()
    for epoch, offset in [(1, 0), (1, 5), (4, 9), (6, 20)]:
        epochs.note(epoch, offset)
    assert epochs.entries() == [(1, 0), (4, 9), (6, 20)]
    assert [epochs.epoch_at(offset) for offset in (0, 8, 9, 19, 20)] == [1, 1, 4, 4, 6]
    epochs.truncate_to(20)
    assert epochs.entries() == [(1, 0), (4, 9)]
    epochs.remove_before(12)
    assert epochs.entries() == [(4, 12)]
    epochs.note(7, 12)  # nothing of epoch 4 is left
    assert epochs.entries() == [(7, 12)]
    assert leader_epochs_from_bytes(epochs.to_bytes()).entries() == [(7, 12)]


@pytest.mark.parametrize(("epoch", "offset"), [(3, 30), (5, 10)])
def test_neither_epochs_nor_offsets_fall(epoch: int, offset: int) -> None:
    epochs = epochs_of((4, 20), log_end=25)
    with pytest.raises(ValueError, match="after 4"):
        epochs.note(epoch, offset)
