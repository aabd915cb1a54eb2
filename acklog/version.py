"""The version of this distribution, as packaging/acklog/pyproject.toml has it.

Asking the installed metadata would take a sixth of the time that `import acklog` may take.
"""

__version__ = "0.1.0"
