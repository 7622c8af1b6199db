"""Plans of cuDNN that take long to make, made by a thread of its own while the program goes on."""

from __future__ import annotations

import atexit
import queue
import threading

import cupy

from .. import compile as cache
from .planner import Planner

PATIENCE = 3  # calls after which a plan is worth making


class Workshop:
    """What was asked for, and how far it is."""

    def __init__(self) -> None:
        self.calls: dict[tuple[str, int], int] = {}
        self.done: dict[tuple[str, int], bool] = {}  # and whether there is a plan
        self.orders: queue.SimpleQueue[Planner | None] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None

    def ask(self, planner: Planner) -> bool | None:
        """Whether there is a plan, which is in the cache then; None as long as nobody knows."""
        key = planner.text, planner.index
        found = self.done.get(key)
        if found is not None:
            return found
        calls = self.calls[key] = self.calls.get(key, 0) + 1
        if calls == 1 and cache.cached(planner.text, planner) is not None:
            self.done[key] = True
            return True
        if calls == PATIENCE:
            self.orders.put(planner)
            self._start()
        return None

    def _start(self) -> None:
        if self.thread is None:
            self.thread = threading.Thread(target=self._work, name="cucudnn plans", daemon=True)
            self.thread.start()
            atexit.register(self.close)

    def _work(self) -> None:
        while (planner := self.orders.get()) is not None:
            try:
                with cupy.cuda.Device(planner.index):
                    cache.artefact([planner.text], planner)
                found = True
            except Exception:  # noqa: BLE001 - whatever it was, there is no plan, and others come
                found = False
            self.done[planner.text, planner.index] = found

    def close(self) -> None:
        """Wait for what is being made, and make no more: cuDNN must not be at work when the
        process ends."""
        while not self.orders.empty():
            self.orders.get()
        self.orders.put(None)
        if self.thread is not None:
            self.thread.join()
            self.thread = None
