"""The corpora: a directory a target, a file an input. What begins with `seed-` is written by `python -m
tests.fuzz.seeds`; what begins with `found-` was a finding once, and stays."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
SEED, FOUND = "seed-", "found-"
CORPUS_BYTES_MAX = 64 * 1024
"""Of one target's files together."""


def inputs_of(name: str) -> list[Path]:
    return sorted(path for path in (CORPUS / name).iterdir() if path.is_file())


def write_seeds(name: str, seeds: Iterable[bytes]) -> int:
    """In place of the seeds that are there. How many there are now."""
    directory = CORPUS / name
    directory.mkdir(parents=True, exist_ok=True)
    for path in directory.glob(f"{SEED}*"):
        path.unlink()
    written = {SEED + hashlib.sha256(seed).hexdigest()[:12]: seed for seed in seeds}
    for file, seed in written.items():
        (directory / file).write_bytes(seed)
    return len(written)
