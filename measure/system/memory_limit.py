"""Free memory, and a limit on what this process may allocate."""

import contextlib
import resource
from pathlib import Path

SHARE = 0.8  # of the memory that is free
GROUPS = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


def free_bytes(root: Path = Path("/")) -> int:
    """Memory that can be allocated: what the kernel calls available, or the rest of a container's limit if that is less."""
    import psutil

    found = [int(psutil.virtual_memory().available)]
    for limit, use in GROUPS:  # of control groups, version 2 and 1
        with contextlib.suppress(OSError, ValueError):  # the other version, or no limit, which reads "max"
            folder = root / "sys/fs/cgroup"
            found.append(int((folder / limit).read_text()) - int((folder / use).read_text()))
    return max(min(found), 0)


def bound(share: float = SHARE, root: Path = Path("/")) -> None:
    """Let this process allocate at most a share of the memory that is free now, beyond what it has.

    If memory runs out all the same, it is the first that the kernel ends.
    """
    with contextlib.suppress(OSError):
        (root / "proc/self/oom_score_adj").write_text("1000")
    status = (root / "proc/self/status").read_text().splitlines()
    held = int(next(line.split()[1] for line in status if line.startswith("VmData:"))) * 1024
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = held + int(share * free_bytes(root))
    resource.setrlimit(resource.RLIMIT_DATA, (limit if most == resource.RLIM_INFINITY else min(limit, most), most))
