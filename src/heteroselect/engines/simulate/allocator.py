"""Keep the memory that a step of training frees for the next one.

By default glibc gives large buffers back to the kernel when they are freed and asks for them again a moment later;
with several threads in one process each return stops all of them. These settings (mallopt(3)) are the process's own,
hold on to a little more memory, and change no result. Where there is no glibc nothing is done.
"""

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_MEGABYTE = 1 << 20


def keep_freed_memory() -> bool:
    """Whether the C library took it. One arena: only it may grow beyond 64 MB without the kernel's help."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    settings = {_MMAP_THRESHOLD: 32 * _MEGABYTE, _TRIM_THRESHOLD: 256 * _MEGABYTE, _ARENA_MAX: 1}
    return all(bool(mallopt(name, value)) for name, value in settings.items())
