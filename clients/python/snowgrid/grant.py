"""The rules of docs/grants.md (G1 to G12) as a state machine, without input, output or a clock.

Times are whole milliseconds: at is a reading of the process's monotonic clock, rounded down, and a
timestamp is Unix time. A Machine is not safe for concurrent use.
"""

from __future__ import annotations

from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Tuple

from .layout import Layout

TIMES_MAX = 10  # replies whose times count (G2)
TIMES_FOR = 60_000  # ms for which the time of a reply counts after it (G2)
FIRST_PAUSE = 300  # ms, after a failure (G8)
LAST_PAUSE = 3000  # ms


class Reply(NamedTuple):
    """The fields of a reply to POST /v1/grants that the rules need."""

    grant: str
    node: int
    start: int  # the field from
    until: int
    now: int
    renew_in_ms: int
    layout: Layout

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> Reply:
        """Reads the object of a reply. It raises ValueError if a field is missing or no number."""

        def number(name: str) -> int:
            value = body.get(name)
            if type(value) is not int or not 0 <= value < 1 << 53:
                raise ValueError(f"the field {name} of the reply is {value!r:.40}")
            return value

        if not isinstance(body.get("grant"), str) or not body["grant"]:
            raise ValueError(f"the field grant of the reply is {body.get('grant')!r:.40}")
        layout = Layout(*(number(name) for name in Layout._fields))
        return cls(
            body["grant"], number("node"), number("from"), number("until"), number("now"),
            number("renew_in_ms"), layout,
        )


class Ended(Exception):
    """No ID will ever be made. code is destroyed, exhausted, or ended after a release."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class _Span:
    """A range of timestamps of one node: start <= t < until."""

    __slots__ = ("node", "start", "until")

    def __init__(self, node: int, start: int, until: int) -> None:
        self.node, self.start, self.until = node, start, until


class Machine:
    """Makes the IDs of one process under one grant. jitter returns a number from 0 to below-1."""

    def __init__(self, jitter: Callable[[int], int], last: int = -1, ended: str = "") -> None:
        self._jitter = jitter
        self.grant = ""
        self.layout: Optional[Layout] = None
        self._counters = self._ends = self._epoch = self._time_shift = self._node_shift = 0
        self._spans: List[_Span] = []  # in the order of their use
        self._times: List[Tuple[int, int]] = []  # of the last replies: at, and grid's time minus at
        self._ahead = 0  # the grid's time is at and this (G2)
        self.due = 0  # when to send the next request
        self.asked = False  # a request has no result yet
        self._pause = FIRST_PAUSE  # after the next failure
        self._last, self._node, self._counter = last, -1, 0  # of the last ID; counter is the next
        self.ended = ended
        self.wait = 0  # ms, after a next without an ID: 0 to wait for a reply
        self.made = 0  # IDs

    def ready(self) -> bool:
        """Returns whether a request may be sent once it is due (G8)."""
        return not self.asked and not self.ended

    def request(self, at: int) -> str:
        """Returns the grant to send, "" to take one."""
        self.asked, self.due = True, at
        return self.grant

    def replied(self, at: int, r: Reply) -> None:
        """Applies a reply that was received at a time."""
        self.asked, self._pause = False, FIRST_PAUSE
        if self.ended:
            return
        self.grant, self.layout, self.due = r.grant, r.layout, at + r.renew_in_ms
        self._epoch, self._time_shift, self._node_shift, self._counters, self._ends = r.layout
        times = [t for t in self._times if t[0] >= at - TIMES_FOR] + [(at, r.now - at)]
        self._times = times[-TIMES_MAX:]
        self._ahead = max(offset for _, offset in self._times)
        now = at + self._ahead
        self._spans = [s for s in self._spans if s.until > now or s.until > r.start]
        last = self._spans[-1] if self._spans else None
        if last and last.node == r.node and r.start <= last.until:  # no gap (G7)
            last.until = max(last.until, r.until)  # G5
        elif r.start < r.until:
            self._spans.append(_Span(r.node, r.start, r.until))  # G6

    def refused(self, at: int, code: str = "", retry_after_ms: int = 0) -> None:
        """Applies a request that got no grant (G8, G12). code is "" without a reply."""
        self.asked = False
        if code == "destroyed":
            self.ended = "destroyed"
        elif code == "detached":  # it was released (G10)
            self.grant, self._spans = "", []
        self.due = at + max(retry_after_ms, self._pause - self._jitter(self._pause // 2))
        self._pause = min(2 * self._pause, LAST_PAUSE)

    def next(self, at: int) -> Optional[int]:
        """Returns an ID, or None: wait is the time until the next try, 0 to wait for a reply."""
        if self.ended:
            raise Ended(self.ended)
        now = at + self._ahead
        spans, last = self._spans, self._last
        while spans:
            s = spans[0]
            t, counter = now if now > s.start else s.start, 0
            if t <= last:
                if s.node == self._node and self._counter < self._counters:
                    t, counter = last, self._counter  # G3, G4
                else:
                    t = last + 1
            if t >= s.until:
                del spans[0]  # G1
                continue
            if t >= self._ends:
                raise Ended("exhausted")
            if t > now and t != last:
                self.wait = t - now  # G3
                return None
            self._last, self._node, self._counter = t, s.node, counter + 1
            self.made += 1
            return (t - self._epoch) << self._time_shift | s.node << self._node_shift | counter
        self.wait = 0
        return None

    def more(self, n: int) -> int:
        """Takes up to n further IDs directly after next returned one, and returns their number.

        They follow that ID without gaps.
        """
        n = min(n, self._counters - self._counter)
        self._counter += n
        self.made += n
        return n

    def usable(self) -> bool:
        """Returns whether timestamps are left, now or later."""
        return bool(self._spans)

    def forked(self) -> Machine:
        """Returns the machine of a child process: the grant is the parent's (G9)."""
        return Machine(self._jitter, self._last, self.ended)

    def release(self) -> Tuple[str, int]:
        """Ends the machine. Returns the grant to release, "" without one, and its last timestamp,
        0 for none (G10)."""
        grant, last = self.grant, max(self._last, 0)
        self.grant, self._spans, self.ended = "", [], "ended"
        return grant, last
