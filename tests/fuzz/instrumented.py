"""One target under atheris, in a process of its own: `python -m tests.fuzz.instrumented MODULE [OPTIONS OF LIBFUZZER]`.

Only our modules are instrumented. Those of the target are imported here, and nothing of the product before.
"""

import logging
import resource
import sys

import atheris

PACKAGES = ["acklog", "app", "cluster", "storage", "tests.fuzz"]
ADDRESS_SPACE_BYTES_MAX = 8 << 30
"""Whoever asks for more is refused, which is a finding: nothing documents a MemoryError."""


def main() -> None:
    module, *options = sys.argv[1:]
    with atheris.instrument_imports(include=PACKAGES):
        from tests.fuzz.promise import is_taken
        from tests.fuzz.targets_table import load_target

        target = load_target(module)
    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES_MAX, ADDRESS_SPACE_BYTES_MAX))

    def run(data: bytes) -> None:
        is_taken(target, data)

    atheris.Setup([sys.argv[0], *options], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
