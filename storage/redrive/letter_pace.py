"""How fast letters go."""

from math import ceil

from storage.redrive.redrive_settings import RedriveSettings


class LetterPace:
    """Of one partition of a job, of which `per_second` is the share of the job's rate; None: as fast as it goes."""

    def __init__(self, per_second: float | None, settings: RedriveSettings) -> None:
        self._per_second = per_second
        share = settings.letters_at_once if per_second is None else int(per_second * settings.period_ms / 1000)
        self.letters_max = min(max(share, 1), settings.letters_at_once)
        """Of one step."""

    def pause_ms(self, letters: int, took_ms: int) -> int:
        """Before the next step, after one that took up so many letters in this time."""
        return 0 if self._per_second is None else max(ceil(letters * 1000 / self._per_second) - took_ms, 0)
