"""Runs the cases of clients/conformance.json against the state machine and the settings."""

from __future__ import annotations

import json
import pathlib
import unittest
from typing import Any, Dict, List, Optional

from snowgrid.grant import Machine, Reply
from snowgrid.layout import Layout
from snowgrid.session import Settings
from snowgrid.transport import Options

FILE = pathlib.Path(__file__).resolve().parents[2] / "conformance.json"
DATA = json.loads(FILE.read_text(encoding="utf-8"))
LEAST = {"cases": 65, "requests": 12, "releases": 4, "parts": 9, "ranges": 21}
RESULTS = {"request", "reply", "refused", "ids", "many", "wait", "error", "due", "fork", "release"}


def run(machine: Machine, steps: Any, bulk: bool = False) -> Optional[str]:
    """Runs the steps of a case, and returns the first difference. bulk takes IDs by more too."""
    for number, step in enumerate(steps):
        at = step["at"]
        (kind,) = set(step) - {"at"}
        expected: Any = step[kind]
        have: Any = None
        if kind not in RESULTS:
            return f"step {number}: {kind} is not a field of a step"
        try:
            if kind == "request":
                if not machine.ready():
                    return f"step {number}: a request is in progress"
                have = machine.request(at)
            elif kind == "reply":
                machine.replied(at, Reply.parse(expected))
                continue
            elif kind == "refused":
                machine.refused(at, expected.get("code", ""), expected.get("retry_after_ms", 0))
                continue
            elif kind == "fork":
                machine = machine.forked()
                continue
            elif kind == "ids":
                have = [str(machine.next(at)) for _ in expected]
            elif kind == "many":
                ids: List[int] = []
                after = steps[number + 1:number + 2]
                used_up = bulk and after and after[0]["at"] == at and "wait" in after[0]
                limit = 1 << 20 if used_up else expected["count"]
                while len(ids) < expected["count"]:
                    one = machine.next(at)
                    if one is None:
                        break
                    ids.append(one)
                    if bulk:
                        ids += range(one + 1, one + 1 + machine.more(limit - len(ids)))
                if any(b != a + 1 for a, b in zip(ids, ids[1:])):
                    return f"step {number}: the IDs have gaps"
                have = {"count": len(ids), "first": str(ids[0]), "last": str(ids[-1])}
            elif kind == "wait":
                one = machine.next(at)
                have = machine.wait if one is None else f"the ID {one}"
            elif kind == "due":
                have = expected if expected[0] <= machine.due <= expected[1] else machine.due
            elif kind == "release":
                grant, last = machine.release()
                have = {"grant": grant, "last": last}
            elif kind == "error":
                have = f"the ID {machine.next(at)}"
        except Exception as e:  # of a mutant, Ended is another class
            have = getattr(e, "code", repr(e))
        if have != expected:
            return f"step {number} at {at}: {kind} is {have}, expected {expected}"
    return None


def failures(machine: Any = Machine, bulk: bool = False, most: int = 1000) -> Dict[str, str]:
    """Returns at most so many cases that fail, with the rule and the difference."""
    failed: Dict[str, str] = {}
    for case in DATA["cases"]:
        if len(failed) == most:
            break
        for jitter in (lambda below: 0, lambda below: below - 1, lambda below: below // 2):
            difference = run(machine(jitter), case["steps"], bulk)
            if difference is not None:
                failed[case["name"]] = f"{case['rule']}: {difference}"
    return failed


def wrong_bodies(settings: Any = Settings) -> Dict[str, str]:
    """Returns the requests whose body differs, with the difference."""
    failed: Dict[str, str] = {}
    nowhere = Options(("http://127.0.0.1:1",), *[None] * 6)
    for request in DATA["requests"]:
        given, expected = request["given"], request["body"]
        s = settings(given["name"], given.get("create"), given["labels"], True, 2.0, nowhere)
        have = json.loads(json.dumps(s.body(given["grant"], given["ids"], given["waits"])))
        if have != expected:
            failed[request["about"]] = f"the body is {have}, expected {expected}"
    for release in DATA["releases"]:
        given, expected = release["given"], release["body"]
        have = settings.release(given["grant"], given["last"], given["ids"], given["waits"])
        if json.loads(json.dumps(have)) != expected:
            failed[release["about"]] = f"the body is {have}, expected {expected}"
    return failed


def layout_of(one: Any) -> Layout:
    return Layout(*(one[name] for name in Layout._fields))


class Conformance(unittest.TestCase):
    def test_all_are_here(self) -> None:
        for name, least in LEAST.items():
            self.assertGreaterEqual(len(DATA[name]), least, name)

    def test_cases(self) -> None:
        self.assertEqual(failures(), {})

    def test_cases_in_bulk(self) -> None:
        self.assertEqual(failures(bulk=True), {})

    def test_requests(self) -> None:
        self.assertEqual(wrong_bodies(), {})

    def test_parts(self) -> None:
        for one in DATA["parts"]:
            have = layout_of(one).decompose(int(one["id"]))
            self.assertEqual(have, (one["time"], one["node"], one["counter"]), one)

    def test_ranges(self) -> None:
        for one in DATA["ranges"]:
            layout = layout_of(one)
            self.assertEqual(str(layout.min_id(one["time"])), one["min"], one)
            self.assertEqual(str(layout.max_id(one["time"])), one["max"], one)


if __name__ == "__main__":
    unittest.main()
