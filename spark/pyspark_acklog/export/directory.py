"""What lies where below a table's root, and reading and writing it.

topic=<topic>/date=<date>/<file>                    the table: nothing else is visible to Spark
_acklog/manifests/<topic>/<number>.json             what was committed
_acklog/plans/<topic>/<number>/<revision>.json      what a run is about to do
_acklog/staging/<topic>/<number>-<token>/           what a run has written and not committed
_acklog/replaced/<topic>/<number>/<file>            what that run has joined into other files

Of a topic in a namespace the folder is `shop%2Forders`, by which Spark reads `shop/orders` in the column `topic`.
"""

import re
from collections.abc import Iterator

from acklog.wire.names import full_name_fault
from pyspark_acklog.export.failures import ExportError, ManifestError
from pyspark_acklog.export.manifest import (
    MANIFEST_BYTES_MAX,
    NUMBER_DIGITS,
    Manifest,
    decode,
    decode_manifest,
    digest_of,
    encode,
    file_name_of,
    number_of,
)
from pyspark_acklog.export.plan import Plan
from pyspark_acklog.export.storage import Storage
from pyspark_acklog.export.table import Table

HIDDEN = "_acklog"
OWNER_FILE = "_owner.json"
_SLASH = "%2F"
_NUMBER = re.compile(r"([0-9]{10})")
_PLAN_NAME = re.compile(r"[0-9]{4}\.json")
_ATTEMPT = re.compile(r"([0-9]{10})-([0-9a-z]+)")
REVISIONS_MAX = 9_999


def folder_of(topic: str) -> str:
    """Every name has one of its own, as no name has a `%`."""
    return topic.replace("/", _SLASH)


def topic_of(folder: str) -> str:
    """Whose folder it is."""
    return folder.replace(_SLASH, "/")


class ExportDirectory:
    """One topic's part of an export."""

    def __init__(self, storage: Storage, topic: str) -> None:
        fault = full_name_fault(topic)
        if fault is not None:
            raise ExportError(f"{topic!r} is no topic: the name {fault}")
        self.storage = storage
        self.topic = topic
        folder = folder_of(topic)
        self.table_path = f"topic={folder}"
        self._manifests = f"{HIDDEN}/manifests/{folder}"
        self._plans = f"{HIDDEN}/plans/{folder}"
        self.staging = f"{HIDDEN}/staging/{folder}"
        self.replaced = f"{HIDDEN}/replaced/{folder}"

    # --- manifests ---------------------------------------------------------------------------------------------------

    def manifest_path(self, number: int) -> str:
        return f"{self._manifests}/{file_name_of(number)}"

    def numbers(self) -> list[int]:
        """Of the manifests that are there. Raises ManifestError where one is missing between others."""
        names = (file.path.rpartition("/")[2] for file in self.storage.list_files(self._manifests))
        found = sorted(number for number in map(number_of, names) if number is not None)
        if found and found != list(range(1, found[-1] + 1)):
            missing = next(number for number in range(1, found[-1]) if number not in set(found))
            raise ManifestError(f"manifest {missing} of {self.topic} is missing in {self.storage.root}")
        return found

    def last(self) -> tuple[Manifest, str] | None:
        """The newest manifest with its digest."""
        numbers = self.numbers()
        return self.manifest(numbers[-1]) if numbers else None

    def manifest(self, number: int) -> tuple[Manifest, str]:
        """A manifest that is there, with its digest."""
        path = self.manifest_path(number)
        content = self.storage.read(path)
        if content is None:
            raise ManifestError(f"{path} is missing in {self.storage.root}")
        return decode_manifest(content, path=path), digest_of(content)

    def manifests(self) -> Iterator[tuple[Manifest, str]]:
        """All of them, in order."""
        for number in self.numbers():
            yield self.manifest(number)

    def table(self) -> Table:
        """The table as all manifests say it is."""
        table = Table(self.topic)
        for manifest, digest in self.manifests():
            table.add(manifest, digest)
        return table

    def commit(self, manifest: Manifest) -> bool:
        """True where this manifest is the one with its number, now and for ever.

        Another try of one whose outcome was unknown is fine: the staging directory's name makes it unique.
        """
        content = encode(manifest)
        if len(content) > MANIFEST_BYTES_MAX:
            raise ExportError(
                f"the run's manifest would have {len(content):,} bytes, {MANIFEST_BYTES_MAX:,} are the most:"
                " partition by less, or export topic by topic"
            )
        path = self.manifest_path(manifest.number)
        return self.storage.put_if_absent(path, content) or self.storage.read(path) == content

    # --- plans -------------------------------------------------------------------------------------------------------

    def plan(self, number: int) -> Plan | None:
        """The newest plan for a number."""
        files = self.storage.list_files(self._plan_path(number))
        found = [file.path for file in files if _PLAN_NAME.fullmatch(file.path.rpartition("/")[2])]
        if not found:
            return None
        content = self.storage.read(max(found))
        return None if content is None else decode(Plan, content, path=max(found))

    def put_plan(self, plan: Plan) -> bool:
        """False where there is a plan of this number and revision."""
        if plan.revision > REVISIONS_MAX:
            raise ExportError(f"{plan.revision:,} plans for run {plan.number} of {plan.topic} were never committed")
        return self.storage.put_if_absent(f"{self._plan_path(plan.number)}/{plan.revision:04d}.json", encode(plan))

    def _plan_path(self, number: int) -> str:
        return f"{self._plans}/{number:0{NUMBER_DIGITS}d}"

    # --- staging -----------------------------------------------------------------------------------------------------

    def attempt_path(self, number: int, token: str) -> str:
        return f"{self.staging}/{number:0{NUMBER_DIGITS}d}-{token}"

    def attempts(self) -> dict[str, int]:
        """The staging directories that are there, with the number that each is for."""
        return self._numbered(self.staging, _ATTEMPT)

    def clean(self, number: int) -> None:
        """Remove what nobody needs once `number` is committed and all its files have their names.

        A run for that number or a lower one can never be committed any more, so this takes nothing from anyone.
        """
        for path, attempted in self.attempts().items():
            if attempted <= number:
                self.storage.delete_tree(path)
        for path, planned in self._numbered(self._plans, _NUMBER).items():
            if planned <= number:
                self.storage.delete_tree(path)
        for path, replacing in self._numbered(self.replaced, _NUMBER).items():
            if replacing < number:  # those that the last run replaced may still be read by who listed them before
                self.storage.delete_tree(path)

    def replaced_path(self, number: int, path: str) -> str:
        return f"{self.replaced}/{number:0{NUMBER_DIGITS}d}/{path}"

    def _numbered(self, directory: str, pattern: re.Pattern[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for file in self.storage.list_files(directory):
            name = file.path.removeprefix(directory + "/").partition("/")[0]
            match = pattern.fullmatch(name)
            if match is not None:
                found[f"{directory}/{name}"] = int(match[1])
        return found
