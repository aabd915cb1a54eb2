"""Runs a redrive job in one partition of dead letters: each letter is sent once, whenever a runner dies.

1. The targets are taken over: an earlier runner sends nothing there any more.
2. Where they end is noted, with the letters that are about to be sent (`SendingLetters`).
3. The letters are sent.
4. They are handled for the job's group.
5. That is noted.

Who begins where another one died finds the note of the second step. It takes over, and looks in the targets from there
on: what is there was sent, the rest was not. No window of time is relied on. Where a part of the targets is gone that
would have to be looked through, nobody can say, and the letters that were not found are left unhandled rather than sent
a second time (rule R42).
"""

from collections.abc import Sequence

from msgspec.structs import replace

from cluster.model.redrives import LetterRange, RedrivePart, SendingLetters
from storage.redrive.ports import Letter, Letters, Notes, Targets


class PartRunner:
    """One life of a runner: `resume`, then `step` until it `is_done`. After any error it may `resume` again."""

    def __init__(self, letters_range: LetterRange, *, letters: Letters, targets: Targets, notes: Notes) -> None:
        self._range = letters_range
        self._letters = letters
        self._targets = targets
        self._notes = notes
        self.part = RedrivePart(letters_range.start)
        self._taken_over: set[str] = set()

    async def resume(self) -> None:
        """Take up what is noted: to be called first, and again after an error, when it is not known what was done."""
        self._taken_over.clear()  # what this one sent and was not answered is fenced as anybody's
        self.part = await self._notes.read()
        sending = self.part.sending
        if sending is None:
            return
        topic_ids = {end.topic_id for end in sending.reach}
        await self._take_over(topic_ids)
        sent = await self._targets.sent_since(sending.reach)
        found = frozenset(sending.offsets) & sent.offsets
        missing = [offset for offset in sending.offsets if offset not in found]
        if sent.is_sure and missing:
            letters = await self._letters.read_these(missing)
            # Where a letter would go elsewhere by now, the next one who begins here would not look for it there.
            found |= await self._send([letter for letter in letters if letter.target_id in topic_ids])
        await self._finish(sending, found)

    @property
    def is_done(self) -> bool:
        return self.part.sending is None and self.part.position >= self._range.end

    async def step(self, *, letters_max: int) -> int:
        """Send up to so many letters; returns how many were taken up."""
        page = await self._letters.read(self.part.position, end=self._range.end, letters_max=letters_max)
        topic_ids = {letter.target_id for letter in page.letters if letter.target_id}
        await self._take_over(topic_ids)
        reach = await self._targets.ends(topic_ids) if topic_ids else ()
        sending = SendingLetters(tuple(letter.offset for letter in page.letters), page.end, reach)
        if topic_ids:
            await self._note(replace(self.part, sending=sending))
        sent = await self._send(page.letters)
        await self._finish(sending, sent)
        return len(page.letters)

    async def _take_over(self, topic_ids: set[str]) -> None:
        if new := topic_ids - self._taken_over:
            await self._targets.take_over(new)
            self._taken_over |= new

    async def _send(self, letters: Sequence[Letter]) -> frozenset[int]:
        """Those of which nobody knows where they came from stay."""
        known = [letter for letter in letters if letter.target_id]
        return await self._targets.send(known) if known else frozenset()

    async def _finish(self, sending: SendingLetters, sent: frozenset[int]) -> None:
        if sent:
            await self._letters.handled(sent)
        part = self.part
        await self._note(
            RedrivePart(sending.end, part.moved + len(sent), part.failed + len(sending.offsets) - len(sent))
        )

    async def _note(self, part: RedrivePart) -> None:
        await self._notes.write(part)
        self.part = part
