"""Why a run of a benchmark ended early, in a line."""


def failure_text(error: BaseException, *, deadline_s: float) -> str:
    """The first failure of a group says it; a timeout is that of the whole run."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {str(error) or f'not finished within {deadline_s:.0f} s'}"
