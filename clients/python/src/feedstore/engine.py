"""The thread in which a store decides: an event loop, to which all other threads hand over."""

import asyncio
import inspect
import threading
from concurrent.futures import Future
from typing import Any, Callable, Optional, TypeVar

from .errors import FeedStoreError

_T = TypeVar("_T")


class Engine:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="feedstore", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self.loop.run_forever()
        self.loop.close()

    def post(self, function: Callable[..., Any], *arguments: Any) -> bool:
        """Has the thread call a function later; returns whether it will: not after the end."""
        # What is posted before the end is called before the end.
        with self._lock:
            if not self._is_stopped:
                self.loop.call_soon_threadsafe(function, *arguments)
            return not self._is_stopped

    def run(self, function: Callable[[], _T]) -> _T:
        """Has the thread call a function, and waits for its result."""
        if threading.current_thread() is self._thread:
            return function()
        future: "Future[_T]" = Future()

        def call() -> None:
            try:
                future.set_result(function())
            except BaseException as fault:
                future.set_exception(fault)

        if not self.post(call):
            raise FeedStoreError("the store is closed")
        return future.result()

    def stop(self) -> None:
        with self._lock:
            if self._is_stopped:
                return
            self._is_stopped = True
            self.loop.call_soon_threadsafe(self.loop.stop)


def running_loop() -> Optional[asyncio.AbstractEventLoop]:
    """The event loop of the program that runs here; None if there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def resolved(value: Any, loop: Optional[asyncio.AbstractEventLoop]) -> Any:
    """A value, or what an awaitable leads to in the program's event loop."""
    if not inspect.isawaitable(value):
        return value

    async def wait() -> Any:
        return await value

    if loop is not None and loop.is_running():
        return asyncio.run_coroutine_threadsafe(wait(), loop).result()
    return asyncio.run(wait())
