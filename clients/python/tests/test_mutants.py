"""Breaks each rule in a module: a conformance case has to fail for each.

python3 -m tests.test_mutants, in clients/python, prints which one.
"""

from __future__ import annotations

import pathlib
import sys
import unittest
from types import ModuleType
from typing import Dict

import snowgrid.grant
import snowgrid.session

from .test_conformance import failures, wrong_bodies

NO_REPLY = '        if self.ended:\n            return\n        self.grant, self.layout'
EVER = (
    "times = [t for t in self._times if t[0] >= at - TIMES_FOR] + [(at, r.now - at)]\n"
    "        self._times = times[-TIMES_MAX:]"
)

# The rule, what is broken, the text in grant.py and its replacement.
MUTANTS = [
    ("G1", "until is not checked", "if t >= s.until:", "if False:"),
    ("G1", "until belongs to the grant", "if t >= s.until:", "if t > s.until:"),
    ("G1", "ends is not checked", "if t >= self._ends:", "if False:"),
    ("G2", "all replies ever count", EVER, "self._times += [(at, r.now - at)]"),
    ("G2", "every reply of a minute counts", "times[-TIMES_MAX:]", "times"),
    ("G2", "the last ten replies count for ever",
     "[t for t in self._times if t[0] >= at - TIMES_FOR]", "self._times"),
    ("G2", "the newest reply alone counts",
     "max(offset for _, offset in self._times)", "self._times[-1][1]"),
    ("G3", "the timestamp falls below the last one", "if t <= last:", "if t == last:"),
    ("G3", "the beginning of the grant is not waited for",
     "if t > now and t != last:", "if False:"),
    ("G3", "from is not checked", "now if now > s.start else s.start", "now"),
    ("G4", "the counter is used twice", "s.node, counter + 1", "s.node, counter"),
    ("G4", "the counter begins again in a millisecond",
     "t, counter = last, self._counter ", "t, counter = last, 0 "),
    ("G4", "the counter has no end", " and self._counter < self._counters", ""),
    ("G4", "a run of counters has no end", "n = min(n, self._counters - self._counter)", ""),
    ("G5", "a reply shortens", "max(last.until, r.until)", "r.until"),
    ("G5", "a reply does not extend", "max(last.until, r.until)", "last.until"),
    ("G6", "the former grant is dropped",
     "self._spans.append(_Span(r.node, r.start, r.until))",
     "self._spans = [_Span(r.node, r.start, r.until)]"),
    ("G6", "both nodes use one millisecond", "s.node == self._node and ", ""),
    ("G6", "the former node is extended", "last.node == r.node and ", ""),
    ("G7", "the gap is used", " and r.start <= last.until", ""),
    ("G8", "the pause does not grow", "min(2 * self._pause, LAST_PAUSE)", "self._pause"),
    ("G8", "the pause grows without end", "min(2 * self._pause, LAST_PAUSE)", "2 * self._pause"),
    ("G8", "there is no pause", "self.due = at + max(", "self.due = at + 0 * max("),
    ("G8", "retry_after_ms is not read", "max(retry_after_ms, ", "max(0, "),
    ("G8", "renew_in_ms is not read", "at + r.renew_in_ms", "at"),
    ("G9", "the child keeps the grant", "return Machine(self._jitter, self._last, self.ended)",
     "self.asked = False; return self"),
    ("G9", "the child waits for the request of its parent",
     "return Machine(self._jitter, self._last, self.ended)",
     "m = Machine(self._jitter, self._last); m.asked = self.asked; return m"),
    ("G10", "a reply after the release revives", NO_REPLY,
     '        self.ended = ""\n        self.grant, self.layout'),
    ("G10", "a detached grant goes on", 'self.grant, self._spans = "", []\n        self.due', "pass"
     "\n        self.due"),
    ("G10", "the release has no timestamp", "max(self._last, 0)", "0"),
    ("G12", "the generator goes on after destroyed", 'self.ended = "destroyed"', "pass"),
]

# The same in session.py.
REQUESTS = [
    ("G11", "low is sent", '{"used": {', '{"low": 1, "used": {'),
    ("G11", "low is sent in a renewal", 'body["grant"] = grant', 'body.update(grant=grant, low=1)'),
    ("POST", "a renewal repeats name and create", 'body["grant"] = grant\n        else:',
     'body["grant"] = grant\n        if True:'),
    ("POST", "a renewal has no labels", "if self.labels:", "if self.labels and not grant:"),
    ("G10", "the release has no timestamp", '"last": last, ', ""),
    ("G10", "the release has no counts", '"last": last, "used": {"ids": ids, "waits": waits}',
     '"last": last'),
    ("POST", "an empty definition is omitted", "if self.create is not None:", "if self.create:"),
]
ALL = [(snowgrid.grant, *m) for m in MUTANTS] + [(snowgrid.session, *m) for m in REQUESTS]


def mutate(of: ModuleType, text: str, replacement: str, most: int = 1000) -> Dict[str, str]:
    """Returns at most so many cases that fail with a replacement in the source of a module."""
    source = pathlib.Path(of.__file__ or "").read_text(encoding="utf-8")
    if source.count(text) != 1:
        raise ValueError(f"{text!r} is {source.count(text)} times in {of.__name__}")
    module = ModuleType("snowgrid.mutant")
    module.__package__ = "snowgrid"
    sys.modules[module.__name__] = module
    try:
        exec(compile(source.replace(text, replacement), "mutant", "exec"), module.__dict__)
        if of is snowgrid.session:
            return wrong_bodies(module.Settings)
        return failures(module.Machine, True, most) or failures(module.Machine, False, most)
    finally:
        del sys.modules[module.__name__]


class Mutants(unittest.TestCase):
    def test_each_is_detected(self) -> None:
        for of, rule, name, text, replacement in ALL:
            with self.subTest(rule=rule, mutant=name):
                self.assertNotEqual(mutate(of, text, replacement, 1), {})


if __name__ == "__main__":
    for of, rule, name, text, replacement in ALL:
        failed = list(mutate(of, text, replacement))
        print(f"{rule:4} {name}: {len(failed)} cases, as {failed[0]!r}" if failed else
              f"{rule:4} {name}: NOT DETECTED")
