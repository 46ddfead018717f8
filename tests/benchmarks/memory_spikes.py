"""Spikes of 200 MB that last 5 ms: by the kernel's own high-water mark, beside a process that looks every 10 ms."""

import mmap
import os
import subprocess
import sys
import time

from bench.measure.system.host_memory import HostMemory, error_bound_bytes

from .figures import Figures

SPIKES = 100
SIZE = 200 * 1_000_000
HELD_S = 0.005
NEAR = 0.95  # of the spike, for what is sampled to have found it

# Prints when it looked, by the clock all processes share, and what it saw, until its stdin closes.
SAMPLER = """
import os, sys, threading, time
done = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), done.set()), daemon=True).start()
page, seen = os.sysconf("SC_PAGE_SIZE"), []
while not done.wait(0.01):
    with open(f"/proc/{sys.argv[1]}/statm") as statm:
        seen.append((time.monotonic(), int(statm.read().split()[1]) * page))
print(*(f"{when} {size}" for when, size in seen), sep="\\n")
"""


def measure(figures: Figures) -> None:
    """How many of a hundred each misses: what is within the stated bound, or within 5 %, is found."""
    memory = HostMemory()
    assert memory.exact, "the kernel does not let this process reset its high-water mark"
    sampler = subprocess.Popen(
        [sys.executable, "-S", "-c", SAMPLER, str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    found, spans = 0, []
    for _ in range(SPIKES):
        time.sleep(0.02)
        with memory.watch() as peaks:
            start = time.monotonic()
            before = _resident()
            _spike()
            spans.append((start, time.monotonic(), before))
        (growth,) = (peak.size_bytes for peak in peaks if peak.source == "rss_growth")
        found += growth >= SIZE - error_bound_bytes()
    seen = [tuple(map(float, line.split())) for line in sampler.communicate()[0].splitlines()]
    sampled = sum(
        any(size - before >= NEAR * SIZE for when, size in seen if start <= when <= end) for start, end, before in spans
    )
    figures.add("spikes of 5 ms missed, of 100", SPIKES - found, "", reference=SPIKES - sampled, most=0,
                against="a look every 10 ms")  # fmt: skip


def _spike() -> None:
    """Take it all at once, hold it for 5 ms, give it back."""
    with mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE):
        time.sleep(HELD_S)


def _resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * mmap.PAGESIZE
