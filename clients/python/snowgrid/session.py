"""The state of a generator in one process: its grant, its connection and its renewal."""

from __future__ import annotations

import os
import random
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

from .errors import (
    CORRECTIONS, ClosedError, DeadlineError, DestroyedError, ExhaustedError, RequestError,
    SnowgridError,
)
from .grant import Ended, Machine, Reply
from .transport import Options, Transport

LONGEST_WAIT = 3600.0  # seconds; a condition refuses some longer ones

# A caller that waits sends a request itself that is due for so many ms: there is no background, or
# the server of the process runs no threads.
OVERDUE = 250


class Settings(NamedTuple):
    """What all processes of a generator have in common."""

    name: str
    create: Optional[Mapping[str, Any]]
    labels: Mapping[str, str]
    background: bool
    call_timeout: float
    options: Options

    def body(self, grant: str, ids: int, waits: int) -> Dict[str, Any]:
        """Returns the body of a request with this grant, "" for none (G11)."""
        body: Dict[str, Any] = {"used": {"ids": ids, "waits": waits}}
        if grant:
            body["grant"] = grant
        else:
            body["name"] = self.name
            if self.create is not None:
                body["create"] = self.create
        if self.labels:
            body["labels"] = self.labels
        return body

    @staticmethod
    def release(grant: str, last: int, ids: int, waits: int) -> Dict[str, Any]:
        """Returns the body of the release of a grant (G10). last is a timestamp, 0 for none."""
        return {"grant": grant, "last": last, "used": {"ids": ids, "waits": waits}}


class Call:
    """A call for n IDs, which waits until its end at most."""

    def __init__(self, n: int, timeout: float) -> None:
        self.n, self.timeout = n, timeout
        self.since = now_ms()  # its last ID
        self.now = time.monotonic()  # its last try
        self.end = self.now + timeout
        self.ids: List[int] = []
        self.waited = False
        self.late = False  # it counts in overdue
        self.turn = False  # a timestamp was left to it

    def left(self) -> float:
        return self.end - self.now


def now_ms() -> int:
    """Reads the monotonic clock in whole milliseconds, rounded down (G2)."""
    return time.monotonic_ns() // 1_000_000


def _jitter(below: int) -> int:
    return random.randrange(below) if below > 0 else 0


class Session:
    """A fork replaces the whole session: no lock of it is used in another process."""

    def __init__(self, settings: Settings, machine: Optional[Machine] = None) -> None:
        self.pid = os.getpid()
        self.settings = settings
        self.machine = machine or Machine(_jitter)
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        self.renews_in_call = not settings.background
        self.successor: Dict[int, Session] = {}  # by pid, in a child
        self.dropped = False  # the generator was deleted
        self.fault: Optional[RequestError] = None  # of the last request
        self.overdue = 0  # calls that wait since an eighth of their time; others let them pass
        self._waits = 0
        self._reported = 0  # IDs in requests that were answered
        self._late_grant = ""  # of a reply after the release
        self._transport = Transport(settings.options)
        self._thread: Optional[threading.Thread] = None
        self._watchers: List[Callable[[], None]] = []

    def forked(self) -> Session:
        """Returns the session of this child process, which takes a grant of its own (G9)."""
        pid = os.getpid()
        made = self.successor.setdefault(pid, Session(self.settings, self.machine.forked()))
        self._transport.abandon()
        _abandoned.append(self)
        return made

    def take(self, n: int, timeout: float) -> List[int]:
        """Returns n IDs, or raises an error when the time is over."""
        call = Call(n, timeout)
        try:
            while True:
                self.check_process()
                if self.renews_in_call and self.due():
                    self.exchange(call.end - time.monotonic())
                with self.lock:
                    wait = self.try_take(call)
                    if wait < 0:
                        return call.ids
                    sends = self.prepare(wait, call)
                    if not sends:
                        self.changed.wait(min(call.left(), self.pause(wait)))
                if sends:
                    self.exchange(call.left())
        finally:
            self.leave(call)

    def leave(self, call: Call) -> None:
        """Ends a call. In a child process, the lock may be held for ever."""
        if call.late and self.pid == os.getpid():
            with self.lock:
                self.overdue -= 1

    def check_process(self) -> None:
        """Raises an error in a child process that was forked while this call waited: the IDs of the
        call are the parent's (G9)."""
        if self.pid != os.getpid():
            raise SnowgridError(self.text("the process was forked during the call; call again"))

    def try_take(self, call: Call) -> float:
        """Appends IDs until the call has n. Returns -1 then, or the milliseconds until the next
        try, 0 to wait for a reply. The caller holds the lock."""
        machine, ids, n = self.machine, call.ids, call.n
        call.now, at = time.monotonic(), now_ms()
        if 0 < 125 * call.timeout < at - call.since and not call.late:
            call.late = True
            self.overdue += 1
        try:
            while len(ids) < n:
                if self.overdue and not call.late:
                    return self._until(at + 1)
                one = machine.next(at)
                if one is None:
                    if call.late and not call.turn and machine.wait == 1:
                        call.turn = True  # even if the thread runs again only after the end
                        call.end = max(call.end, (at + 1) / 1000)
                    return self._until(at + machine.wait) if machine.wait else 0
                ids.append(one)
                call.since = at
                if call.late:
                    call.late = False
                    self.overdue -= 1
                else:
                    more = machine.more(n - len(ids))
                    ids.extend(range(one + 1, one + 1 + more))
                if len(ids) < n:
                    at = now_ms()
        except Ended as e:
            raise self.end(e.code) from None
        return -1

    def _until(self, at: int) -> float:
        return max(0.001, at - time.monotonic_ns() / 1_000_000)

    def due(self) -> bool:
        """Returns whether a request is to be sent now."""
        return self.machine.ready() and self.machine.due <= now_ms()

    def prepare(self, wait: float, call: Call) -> bool:
        """Raises the error that needs a correction or of a call whose time is over, and starts the
        background. Returns whether the caller has to send the request. The caller holds the lock,
        and sleeps next."""
        sends = self._sends(wait, call)
        if call.left() <= 0:
            raise self._late(call.timeout, wait)
        return sends

    def _sends(self, wait: float, call: Call) -> bool:
        machine, fault = self.machine, self.fault
        self._waits += not call.waited
        call.waited = True
        if wait:
            return False
        if fault is not None and fault.code in CORRECTIONS and not machine.usable():
            raise RequestError(self.text(str(fault)), fault.code, fault.retry_after_ms)
        self._start()
        late = now_ms() - machine.due
        return machine.ready() and late >= (0 if self.renews_in_call else OVERDUE)

    def pause(self, wait: float) -> float:
        """Returns the seconds until a caller tries again, unless a reply is received before."""
        if wait:
            return wait / 1000
        if self.machine.asked:
            return self.settings.call_timeout
        until = self.machine.due - now_ms()
        return max(0.01, (until + (0 if self.renews_in_call else OVERDUE)) / 1000)

    def _start(self) -> None:
        """Starts the background. The caller holds the lock."""
        if self._thread is None and not self.renews_in_call:
            thread = threading.Thread(target=self._renew, name="snowgrid", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no thread can be started: callers send the requests
                self.renews_in_call = True
            else:
                self._thread = thread

    def _renew(self) -> None:
        """Sends the requests when they are due, until the machine ends."""
        while True:
            with self.lock:
                if self.machine.ended:
                    return
                left = (self.machine.due - now_ms()) / 1000
                asked = self.machine.asked  # by a caller
                if not self.dropped and (left > 0 or asked):
                    left = min(left, LONGEST_WAIT)
                    self.changed.wait(self.settings.call_timeout if asked else left)
                    continue
            if self.dropped:
                self.close(self.settings.call_timeout)
                return
            self.exchange(self.settings.call_timeout)

    def exchange(self, left: float) -> None:
        """Sends the next request, unless it is not due or one is in progress (G8)."""
        settings, machine = self.settings, self.machine
        seconds = min(left, settings.call_timeout)
        with self.lock:
            at = now_ms()
            if not machine.ready() or machine.due > at or seconds <= 0:
                return
            grant = machine.request(at)
            made, waits = machine.made, self._waits
        body = settings.body(grant, made - self._reported, waits)
        reply, fault = None, RequestError("the request was interrupted")
        try:
            reply = self._reply(body, seconds)
        except RequestError as e:
            fault = e
        finally:
            with self.lock:
                at = now_ms()
                if reply is None:
                    self.fault = fault
                    machine.refused(at, fault.code, fault.retry_after_ms)
                else:
                    self.fault = None
                    self._reported, self._waits = made, self._waits - waits
                    self._late_grant = reply.grant if machine.ended else ""
                    machine.replied(at, reply)
                self.changed.notify_all()
                watchers, self._watchers = self._watchers, []
            for watcher in watchers:
                watcher()

    def _reply(self, body: Mapping[str, Any], seconds: float) -> Reply:
        reply = self._transport.call("POST", body, seconds)
        try:
            return Reply.parse(reply)
        except ValueError as e:
            self._transport.next_address()
            raise RequestError(f"{e}; is the address that of a member?") from None

    def watch(self, watcher: Callable[[], None]) -> None:
        """Calls a function once after the next result of a request. The caller holds the lock."""
        self._watchers.append(watcher)

    def close(self, timeout: float) -> None:
        """Makes no more IDs, and releases the grant within the time (G10)."""
        end = time.monotonic() + timeout
        with self.lock:
            machine = self.machine
            grant, last = machine.release()
            self.changed.notify_all()
            while machine.asked and time.monotonic() < end:  # one request at a time
                self.changed.wait(max(0.0, end - time.monotonic()))
            grant = self._late_grant or grant
            self._late_grant = ""
            if machine.asked or not grant:
                return
            machine.asked = True
            body = Settings.release(grant, last, machine.made - self._reported, self._waits)
        try:
            for _ in self.settings.options.addresses:
                left = end - time.monotonic()
                if left <= 0:
                    return
                try:
                    self._transport.call("DELETE", body, min(left, self.settings.call_timeout))
                    return
                except RequestError as e:
                    if e.code in CORRECTIONS or e.code in ("destroyed", "detached"):
                        return
        finally:
            self._transport.close()
            with self.lock:
                machine.asked = False
                self.changed.notify_all()

    def text(self, reason: str) -> str:
        """Returns the text of an error, with the sequencer and the addresses."""
        addresses = ", ".join(self.settings.options.addresses)
        return f"snowgrid: sequencer {self.settings.name!r} at {addresses}: {reason}"

    def _late(self, timeout: float, wait: float) -> DeadlineError:
        """Returns the error of a call whose time is over."""
        if wait:
            reason = f"the grant continues in {wait:.0f} ms; give the call more time"
        else:
            fault = str(self.fault) if self.fault else "no reply yet"
            reason = (
                f"last error: {fault}; check that a member runs at one of the addresses and that "
                "this host reaches it, or give the call more time"
            )
        return DeadlineError(self.text(f"no ID within {timeout:g} s; {reason}"))

    def end(self, code: str) -> SnowgridError:
        """Returns the error of a machine that makes no ID again."""
        if code == "destroyed":
            return DestroyedError(self.text(
                "the sequencer was destroyed; create a sequencer and a new generator"
            ))
        if code == "exhausted":
            return ExhaustedError(self.text(
                "no timestamps are left in the layout; create a sequencer with a later epoch"
            ))
        return ClosedError(self.text("the generator was closed; make a new one"))


# Sessions of parent processes. They are kept: to delete one would use locks that another thread of
# the parent may have held at the fork.
_abandoned: List[Session] = []
