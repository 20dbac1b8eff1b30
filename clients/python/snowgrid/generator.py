"""The generator of IDs that programs use."""

from __future__ import annotations

import asyncio
import os
import time
import weakref
from typing import Any, Callable, List, Mapping, Optional, Sequence, Union

from .grant import Ended
from .layout import Layout, Parts
from .session import Call, Session, Settings
from .transport import Options, check_addresses

_getpid, _monotonic_ns = os.getpid, time.monotonic_ns


class Generator:
    """Makes the IDs of a sequencer in this process. It is safe for threads, asyncio and forks.

    It takes a grant in the first call for an ID, so a process that only forks takes none. A child
    process takes one of its own. Use it as a context manager, or call close: that releases the
    grant. An error of a call is a SnowgridError.
    """

    def __init__(
        self,
        addresses: Union[str, Sequence[str]],
        name: str,
        *,
        create: Optional[Mapping[str, Any]] = None,
        token: Union[str, Callable[[], str], None] = None,
        token_file: Optional[str] = None,
        ca_file: Optional[str] = None,
        cert_file: Optional[str] = None,
        key_file: Optional[str] = None,
        server_name: Optional[str] = None,
        labels: Optional[Mapping[str, str]] = None,
        timeout: float = 10.0,
        call_timeout: float = 2.0,
        background: bool = True,
        insecure: bool = False,
    ) -> None:
        if not name:
            raise ValueError("snowgrid: name is empty; give the name of a sequencer")
        options = Options(
            check_addresses(addresses, insecure), token, token_file, ca_file, cert_file, key_file,
            server_name,
        )
        if any(address.startswith("https:") for address in options.addresses):
            options.tls()  # raises the errors of files
        self._timeout = timeout
        self._session = Session(
            Settings(name, create, dict(labels or {}), background, call_timeout, options)
        )
        self._layout: Optional[Layout] = None
        _all.add(self)

    def next(self, timeout: Optional[float] = None) -> int:
        """Returns an ID. It waits at most so many seconds, by default the option timeout."""
        s = self._session
        if s.pid != _getpid():
            s = self._forked()
        if not s.renews_in_call:
            try:
                with s.lock:
                    one = None if s.overdue else s.machine.next(_monotonic_ns() // 1_000_000)
            except Ended as e:
                raise s.end(e.code) from None
            if one is not None:
                return one
        return s.take(1, self._timeout if timeout is None else timeout)[0]

    def next_many(self, n: int, timeout: Optional[float] = None) -> List[int]:
        """Returns n IDs in ascending order."""
        _check_number(n)
        return self._here().take(n, self._timeout if timeout is None else timeout)

    async def next_async(self, timeout: Optional[float] = None) -> int:
        """Returns an ID as next does, without blocking the event loop."""
        s = self._here()
        if not s.renews_in_call:
            call = Call(1, 0)
            with s.lock:
                if s.try_take(call) < 0:
                    return call.ids[0]
        return (await self.next_many_async(1, timeout))[0]

    async def next_many_async(self, n: int, timeout: Optional[float] = None) -> List[int]:
        """Returns n IDs as next_many does, without blocking the event loop."""
        _check_number(n)
        s = self._here()
        loop = asyncio.get_running_loop()
        call = Call(n, self._timeout if timeout is None else timeout)
        try:
            while True:
                s.check_process()
                if s.renews_in_call and s.due():
                    await loop.run_in_executor(None, s.exchange, call.end - time.monotonic())
                with s.lock:
                    wait = s.try_take(call)
                    if wait < 0:
                        return call.ids
                    sends = s.prepare(wait, call)
                    replied = asyncio.Event()
                    if not wait and not sends:
                        s.watch(lambda: _notify(loop, replied))
                if sends:
                    await loop.run_in_executor(None, s.exchange, call.left())
                    continue
                try:
                    await asyncio.wait_for(replied.wait(), min(call.left(), s.pause(wait)))
                except asyncio.TimeoutError:
                    pass
        finally:
            s.leave(call)

    def layout(self, timeout: Optional[float] = None) -> Layout:
        """Returns the layout of the sequencer. It waits for the first reply."""
        if self._layout is None:
            s = self._here()
            if s.machine.layout is None:
                s.take(1, self._timeout if timeout is None else timeout)
            self._layout = s.machine.layout
        assert self._layout is not None
        return self._layout

    def decompose(self, id: int) -> Parts:
        """Returns the time in Unix milliseconds, the node and the counter of an ID."""
        return self.layout().decompose(id)

    def min_id(self, time: int) -> int:
        """Returns the smallest possible ID of a time in Unix milliseconds."""
        return self.layout().min_id(time)

    def max_id(self, time: int) -> int:
        """Returns the largest possible ID of a time in Unix milliseconds."""
        return self.layout().max_id(time)

    def close(self, timeout: float = 4.0) -> None:
        """Releases the grant, and ends the generator. It takes at most so many seconds.

        It raises no error: a grant that is not released is free after a window.
        """
        s = self._here()
        self._layout = self._layout or s.machine.layout
        s.close(timeout)

    async def close_async(self, timeout: float = 4.0) -> None:
        """Does what close does, without blocking the event loop."""
        await asyncio.get_running_loop().run_in_executor(None, self.close, timeout)

    def __enter__(self) -> Generator:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    async def __aenter__(self) -> Generator:
        return self

    async def __aexit__(self, *args: object) -> None:
        await self.close_async()

    def __del__(self) -> None:
        session = getattr(self, "_session", None)
        if session is not None:
            session.dropped = True  # the background releases the grant

    def __reduce__(self) -> Any:
        raise TypeError(
            "snowgrid: a generator cannot be copied or pickled: a copy would issue equal IDs; "
            "make one in each process, or one in a module before the processes are forked"
        )

    def _here(self) -> Session:
        return self._session if self._session.pid == _getpid() else self._forked()

    def _forked(self) -> Session:
        s = self._session
        if s.pid != _getpid():
            self._layout = self._layout or s.machine.layout
            self._session = s = s.forked()
        return s


def _check_number(n: int) -> None:
    if n < 1:
        raise ValueError(f"snowgrid: the number of IDs is {n}; give at least 1")


def _notify(loop: asyncio.AbstractEventLoop, replied: asyncio.Event) -> None:
    try:
        loop.call_soon_threadsafe(replied.set)
    except RuntimeError:
        pass  # the loop was closed


_all: weakref.WeakSet[Generator] = weakref.WeakSet()


def _after_fork() -> None:
    for generator in list(_all):
        generator._here()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
