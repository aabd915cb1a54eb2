"""Why settings cannot be used."""


class SettingsError(ValueError):
    """A setting is not usable; the text names it, where it came from and what it may be."""
