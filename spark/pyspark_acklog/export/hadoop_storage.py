"""Any file system that Hadoop knows, through Spark's JVM: HDFS, S3, Azure, Google, and what else has a connector."""

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

from pyspark_acklog.export.failures import StorageError
from pyspark_acklog.export.storage import StoredFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONDITIONAL_CREATE = "fs.option.create.conditional.overwrite"
"""Hadoop's name for "make the object at the end of the write, and only where there is none" (S3A since 3.4.2)."""
RENAMES_WITHOUT_REPLACING = frozenset({"hdfs", "webhdfs", "swebhdfs", "viewfs", "abfs", "abfss", "ofs", "o3fs"})
"""Where a rename to a name that is taken fails, and is one step: so a whole file appears, for one of any number."""
CREATES_WITHOUT_REPLACING = frozenset({"gs"})
"""Where an object made without overwriting appears whole when it is closed, for one of any number."""
_READ_BYTES_MAX = 512 * 1024 * 1024

Put = Callable[["HadoopStorage", str, bytes], bool]


class HadoopStorage:
    """A table's root on a Hadoop file system. Raises StorageError where it is none that can put a file once."""

    def __init__(self, spark: "SparkSession", root: str, *, put: Put | None = None) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._root = root.rstrip("/")
        self._path: Any = jvm.org.apache.hadoop.fs.Path
        with self._telling("reach", ""):
            configuration = spark._jsc.hadoopConfiguration()
            self._system: Any = self._path(self._root).getFileSystem(configuration)
            self._qualified = str(self._system.makeQualified(self._path(self._root)).toString())
        self._put = put or self._put_of_system()

    @property
    def root(self) -> str:
        return self._root

    def url(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def list_files(self, directory: str) -> list[StoredFile]:
        found: list[StoredFile] = []
        top = self._at(directory)
        with self._telling("read", directory):
            if not self._system.exists(top):
                return []
            files = self._system.listFiles(top, True)
            while files.hasNext():
                status = files.next()
                path = str(status.getPath().toString()).removeprefix(self._qualified + "/")
                found.append(StoredFile(path, int(status.getLen()), int(status.getModificationTime())))
        return sorted(found, key=lambda file: file.path)

    def read(self, path: str) -> bytes | None:
        with self._telling("read", path):
            at = self._at(path)
            if not self._system.exists(at):
                return None
            size_bytes = int(self._system.getFileStatus(at).getLen())
            if size_bytes > _READ_BYTES_MAX:
                raise StorageError(f"{self.url(path)} has {size_bytes:,} bytes: it is not what its name says")
            stream = self._system.open(at)
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

    def put_if_absent(self, path: str, content: bytes) -> bool:
        with self._telling("write", path):
            # Nobody removes what is put once: a file that is there makes the answer certain.
            return not self._system.exists(self._at(path)) and self._put(self, path, content)

    def write(self, path: str, content: bytes) -> None:
        with self._telling("write", path):
            self._fill(self._system.create(self._at(path), True), content)

    def move(self, source: str, target: str) -> bool:
        with self._telling("write", target):
            before, after = self._at(source), self._at(target)
            if not self._system.exists(before):
                return False
            if self._system.exists(after):
                # A move of objects is a copy and a removal: what is left of one that was cut off in between.
                if self._system.getFileStatus(before).getLen() != self._system.getFileStatus(after).getLen():
                    raise StorageError(f"{self.url(target)} is there already, with other content")
                self._system.delete(before, False)
                return True
            self._system.mkdirs(after.getParent())
            if not self._system.rename(before, after) and self._system.exists(before):
                raise StorageError(f"cannot write {self.url(target)}: the file system refused to rename")
            return True

    def delete_tree(self, directory: str) -> None:
        with self._telling("remove", directory):
            self._system.delete(self._at(directory), True)

    def make_durable(self, paths: Iterable[str]) -> None:
        """Files are complete on these systems once they are closed, and Spark has closed them."""
        return

    # --- putting a file once -----------------------------------------------------------------------------------------

    def _put_of_system(self) -> Put:
        scheme = str(self._system.getUri().getScheme())
        with self._telling("reach", ""):
            if self._system.hasPathCapability(self._at(""), CONDITIONAL_CREATE):
                return HadoopStorage.put_conditionally
        if scheme in RENAMES_WITHOUT_REPLACING:
            return HadoopStorage.put_by_rename
        if scheme in CREATES_WITHOUT_REPLACING:
            return HadoopStorage.put_by_create
        known = ", ".join(sorted(RENAMES_WITHOUT_REPLACING | CREATES_WITHOUT_REPLACING))
        raise StorageError(
            f"{self._root}: nothing is known of {scheme}: that would let one of two runs win for certain; exports go"
            f" to local directories, {known}, and to S3 by s3a of Hadoop 3.4.2 or newer"
        )

    def put_conditionally(self, path: str, content: bytes) -> bool:
        """The object appears when it is closed, and only where there is none."""
        builder = self._system.createFile(self._at(path)).must(CONDITIONAL_CREATE, True).recursive()
        return self._won(lambda: self._fill(builder.build(), content), path)

    def put_by_rename(self, path: str, content: bytes) -> bool:
        """A draft gets the name, which fails where there is one."""
        target = self._at(path)
        name = path.rpartition("/")[2]
        draft = self._path(target.getParent(), f".{name}.{secrets.token_hex(8)}")
        try:
            self._fill(self._system.create(draft, False), content)
            return bool(self._system.rename(draft, target))
        except Py4JJavaError as error:
            if _is_of(error, "FileAlreadyExistsException"):
                return False
            raise
        finally:
            self._system.delete(draft, False)

    def put_by_create(self, path: str, content: bytes) -> bool:
        """The object appears when it is closed; another one with this name is refused by its generation."""
        return self._won(lambda: self._fill(self._system.create(self._at(path), False), content), path)

    def _won(self, act: Callable[[], None], path: str) -> bool:
        try:
            act()
        except Py4JJavaError:
            # Refused by whatever kind of error, or failed: what is there decides, and the caller compares it.
            if self._system.exists(self._at(path)):
                return False
            raise
        return True

    def _fill(self, stream: Any, content: bytes) -> None:
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()

    def _at(self, path: str) -> Any:
        return self._path(self.url(path))

    @contextmanager
    def _telling(self, verb: str, path: str) -> Iterator[None]:
        try:
            yield
        except Py4JJavaError as error:
            raise StorageError(f"cannot {verb} {self.url(path)}: {_reason(error)}") from None
        except Py4JError as error:
            raise StorageError(f"cannot {verb} {self.url(path)}: {str(error).splitlines()[0]}") from None


def _reason(error: Py4JJavaError) -> str:
    exception: Any = error.java_exception
    message = str(exception.getMessage() or "").strip()
    name = str(exception.getClass().getSimpleName())
    return f"{message.splitlines()[0]} ({name})" if message else name


def _is_of(error: Py4JJavaError, name: str) -> bool:
    exception: Any = error.java_exception
    return str(exception.getClass().getSimpleName()) == name
