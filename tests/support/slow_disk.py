"""A library to preload by which a process's disk gets slow, or stands still, from a given moment on.

Syncs are what a server waits for: it makes no difference to the process whether the kernel or this library holds them
up.
"""

import subprocess
import sys
from pathlib import Path

_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* What the file named by SLOW_DISK_SWITCH says: nothing where there is none, or how long a sync is to take. */
static int read_switch(char *said, int size) {
    const char *path = getenv("SLOW_DISK_SWITCH");
    int descriptor = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return 0;
    int length = read(descriptor, said, size - 1);
    close(descriptor);
    said[length < 0 ? 0 : length] = 0;
    return length > 0;
}

static int sync_with(const char *name, int descriptor) {
    char said[32];
    if (read_switch(said, sizeof said)) {
        usleep(1000 * atoi(said));
    }
    int (*original)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return original(descriptor);
}

int fsync(int descriptor) { return sync_with("fsync", descriptor); }
int fdatasync(int descriptor) { return sync_with("fdatasync", descriptor); }
"""


class SlowDisk:
    """`environment` is what a process needs to have this disk. Needs a compiler."""

    def __init__(self, directory: Path) -> None:
        self._switch = directory / "slow-disk-switch"
        source, library = directory / "slow_disk.c", directory / "slow_disk.so"
        source.write_text(_SOURCE)
        command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
        subprocess.run(command, check=True, stdout=sys.stderr)
        self.environment = {"LD_PRELOAD": str(library), "SLOW_DISK_SWITCH": str(self._switch)}

    def slow_down(self, sync_ms: int) -> None:
        """Each sync takes so much longer."""
        self._say(str(sync_ms))

    def mend(self) -> None:
        self._switch.unlink(missing_ok=True)

    def _say(self, text: str) -> None:
        written = self._switch.with_suffix(".new")
        written.write_text(text)
        written.replace(self._switch)
