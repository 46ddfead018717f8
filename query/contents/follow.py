"""Following runs while they are recorded: the same answer again every few seconds, until their processes are done."""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...warehouse.errors import NothingToShow, UnknownName
from ...warehouse.journals.live import live_store
from ...warehouse.store import Store

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

CLEAR = "\033[H\033[2J"
SECONDS = 2.0
SHARE = 0.1  # of a processor, which following takes at most: an answer reads all that there is


def follow(store: Store, answer: Callable[["Warehouse"], None], *, seconds: float = SECONDS) -> None:
    """Answer from the runs that are being recorded, again and again, and at last from the store.

    Args:
        store: Where they are recorded; it is not written before the end.
        answer: Prints something of a warehouse; UnknownName says that what it is about is not being recorded.
        seconds: Between two answers, at least.
    """
    from ...warehouse.database import Warehouse

    while True:
        began = time.process_time()
        try:
            with live_store(store) as live, Warehouse.open(live) as warehouse:
                if sys.stdout.isatty():
                    sys.stdout.write(CLEAR)
                answer(warehouse)
        except (NothingToShow, UnknownName):
            break
        sys.stdout.flush()
        time.sleep(max(seconds, (time.process_time() - began) / SHARE))
    with Warehouse.open(store) as warehouse:
        answer(warehouse)
