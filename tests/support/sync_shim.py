"""A library to preload that takes fsync and fdatasync away from a process, from a given moment on.

It shows that the power-loss test has teeth: without the syncs, acknowledged messages must be found missing.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

/* While the file named by SYNC_SHIM_SWITCH exists, every sync succeeds and does nothing. */
static int is_switched_off(void) {
    const char *path = getenv("SYNC_SHIM_SWITCH");
    return path != NULL && access(path, F_OK) == 0;
}

static int sync_with(const char *name, int descriptor) {
    if (is_switched_off()) return 0;
    int (*original)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return original(descriptor);
}

int fsync(int descriptor) { return sync_with("fsync", descriptor); }
int fdatasync(int descriptor) { return sync_with("fdatasync", descriptor); }
"""

# Without a compiler: the same for Python's own syncs (those of SQLite's library stay).
_SITE_CUSTOMISATION = """
import os

_switch = os.environ["SYNC_SHIM_SWITCH"]


def _shimmed(original):
    def sync(descriptor):
        if not os.path.exists(_switch):
            original(descriptor)
    return sync


os.fsync = _shimmed(os.fsync)
os.fdatasync = _shimmed(os.fdatasync)
"""


def sync_shim(directory: Path, switch: Path) -> dict[str, str]:
    """The environment for a process whose syncs do nothing once the file `switch` exists."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        (directory / "sitecustomize.py").write_text(_SITE_CUSTOMISATION)
        path = os.pathsep.join([str(directory), *filter(None, [os.environ.get("PYTHONPATH")])])
        return {"PYTHONPATH": path, "SYNC_SHIM_SWITCH": str(switch)}
    source, library = directory / "sync_shim.c", directory / "sync_shim.so"
    source.write_text(_SOURCE)
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True, stdout=sys.stderr)
    return {"LD_PRELOAD": str(library), "SYNC_SHIM_SWITCH": str(switch)}
