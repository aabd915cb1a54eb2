"""What is wrong with a certificate, a key, or with what one is to say."""


class PkiError(ValueError):
    """`field` is what was given wrong, "" where that says nothing; `hint` is what to do about it."""

    def __init__(self, what: str, *, field: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.field = field
        self.hint = hint
