"""Where the server's packages are found.

`app`, `storage` and `cluster` are names that many programs have, and the current directory or PYTHONPATH may come
before the installed packages. An installed server keeps its own in a folder that nothing else looks into, and puts that
folder first before it imports any of them. In a checkout there is no such
folder: the packages are where the checkout is.
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).with_name("_packages")


def use_own_packages(folder: Path = FOLDER) -> None:
    """Have imports from now on find the server's packages first. In the process of the command only, which is ours."""
    own = str(folder)
    if folder.is_dir() and own not in sys.path:
        sys.path.insert(0, own)
