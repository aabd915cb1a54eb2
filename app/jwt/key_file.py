"""An issuer's keys in a file. Blocks."""

from app.jwt.key_set import KEY_SET_BYTES_MAX
from app.jwt.key_source import KeySourceError


def read_key_file(path: str) -> bytes:
    """Raises KeySourceError. One byte too many is enough to see that it is too large."""
    try:
        with open(path, "rb") as file:
            content = file.read(KEY_SET_BYTES_MAX + 1)
    except OSError as error:
        raise KeySourceError(f"the file {path} cannot be read: {error.strerror or error}") from None
    if len(content) > KEY_SET_BYTES_MAX:
        raise KeySourceError(f"the file {path} has more than {KEY_SET_BYTES_MAX} bytes")
    return content
