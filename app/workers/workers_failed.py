"""Why a server of several processes has ended, where nobody has asked for it."""


class WorkersFailedError(Exception):
    """Whichever process it was has said more in the log. `exit_code` is that of the server."""

    def __init__(self, reason: str, *, exit_code: int) -> None:
        super().__init__(reason)
        self.exit_code = exit_code
