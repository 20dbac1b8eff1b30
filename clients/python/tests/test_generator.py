"""Tests of the generator against a fake member: requests, errors and the end."""

from __future__ import annotations

import copy
import gc
import pickle
import socket
import tempfile
import threading
import time
import unittest
from typing import Any, Callable, List

import snowgrid
from snowgrid import Generator

from .fake import BEGAN, NOWHERE, Member, WithMember, until


class Requests(WithMember):
    def test_first_request(self) -> None:
        g = self.make(create={"nodes": 128}, labels={"service": "shop"}, token="secret")
        self.assertEqual(self.grid.requests, [])
        g.next()
        (one,) = self.grid.requests
        self.assertEqual((one["method"], one["path"]), ("POST", "/v1/grants"))
        self.assertEqual((one["token"], one["type"]), ("Bearer secret", "application/json"))
        self.assertEqual(one["body"], {
            "name": "orders", "create": {"nodes": 128}, "labels": {"service": "shop"},
            "used": {"ids": 0, "waits": 1},
        })

    def test_renewal(self) -> None:
        self.grid.window, self.grid.renew = 400, 100
        g = self.make(create={})
        ids = g.next_many(5)
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            ids.append(g.next(0.5))
            time.sleep(0.005)
        self.assertEqual(ids, sorted(set(ids)))
        self.assertEqual({g.decompose(i).node for i in ids}, {17})
        posts = self.grid.sent("POST")
        self.assertGreater(len(posts), 8)
        self.assertEqual([p["body"].get("grant") for p in posts[1:4]], ["g1.1", "g1.2", "g1.3"])
        self.assertFalse(any("create" in p["body"] or "name" in p["body"] for p in posts[1:]))
        self.assertEqual(self.member.connections, 1)
        g.close()
        used = sum(r["body"]["used"]["ids"] for r in self.grid.requests)
        self.assertEqual(used, len(ids))

    def test_renewal_without_background(self) -> None:
        self.grid.window, self.grid.renew = 400, 50
        threads = threading.active_count()
        with self.make(background=False) as g:
            first = g.next()
            time.sleep(0.06)
            self.assertEqual(len(self.grid.sent("POST")), 1)
            self.assertGreater(g.next(), first)
            self.assertEqual(len(self.grid.sent("POST")), 2)
            self.assertLessEqual(threading.active_count(), threads + 1)  # the member's

    def test_no_thread_starts(self) -> None:
        def refuse(self: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        g = self.make(NOWHERE, self.member.address)
        start, threading.Thread.start = threading.Thread.start, refuse  # type: ignore
        try:
            with self.assertRaises(snowgrid.DeadlineError):
                g.next(0.01)
        finally:
            threading.Thread.start = start  # type: ignore
        self.assertGreater(g.next(), 0)

    def test_next_address(self) -> None:
        g = self.make(NOWHERE, self.member.address)
        began = time.monotonic()
        g.next()
        self.assertLess(time.monotonic() - began, 1)
        self.grid.plans = [{"code": "unavailable"}]
        g2 = self.make(self.member.address, self.enter(Member(self.grid)).address)
        g2.next()
        self.assertEqual(len({r["port"] for r in self.grid.requests[-2:]}), 2)

    def test_connection_that_the_member_closed(self) -> None:
        self.grid.renew = 200
        for plan in ("close", "html"):
            g = self.make()
            g.next()
            with self.grid.lock:
                self.grid.plans = [plan]
            sent = len(self.grid.requests)
            self.assertTrue(until(lambda: len(self.grid.requests) >= sent + 2))
            g.next(0.1)
            g.close()

    def test_connection_for_one_request(self) -> None:
        self.grid.renew, self.grid.plans = 50, ["last", "last", "last"]
        g = self.make()
        g.next()
        self.assertTrue(until(lambda: len(self.grid.requests) >= 6))
        g.next(0.1)
        self.assertEqual(self.member.connections, 4)
        self.assertEqual(self.grid.node, 17)

    def test_connection_that_ended_between_requests(self) -> None:
        self.grid.renew = 300
        g = self.make()
        g.next()
        g._session._transport._connection.sock.shutdown(socket.SHUT_RD)  # type: ignore
        began = time.monotonic()
        self.assertTrue(until(lambda: len(self.grid.requests) >= 2))
        self.assertLess(time.monotonic() - began, 0.5)
        self.assertIsNone(g._session.fault)

    def test_overloaded(self) -> None:
        self.grid.plans = [{"code": "overloaded", "retry_after_ms": 700}]
        g = self.make()
        with self.assertRaisesRegex(snowgrid.DeadlineError, "overloaded: as planned"):
            g.next(0.2)
        g.next()
        first, second = self.grid.sent("POST")
        self.assertGreaterEqual(second["at"] - first["at"], 0.69)

    def test_times_that_are_too_long(self) -> None:
        """They end no background, and an error delays the next request by an hour at most."""
        self.grid.plans = [{"code": "overloaded", "retry_after_ms": 10**30}]
        g = self.make()
        with self.assertRaises(snowgrid.DeadlineError):
            g.next(0.2)
        self.assertEqual(g._session.fault.retry_after_ms, 3_600_000)  # type: ignore[union-attr]
        self.grid.renew = 1 << 52
        other = self.make()
        other.next()
        time.sleep(0.1)
        self.assertTrue(other._session._thread.is_alive())  # type: ignore[union-attr]

    def test_request_lost(self) -> None:
        g = self.make(call_timeout=0.3)
        self.grid.renew = 100
        g.next()
        with self.grid.lock:
            self.grid.plans = ["lose", "hang"]
        self.assertTrue(until(lambda: len(self.grid.requests) >= 4))
        grants = [r["body"].get("grant") for r in self.grid.sent("POST")]
        self.assertEqual(grants[1:4], ["g1.1"] * 3)
        g.next(0.1)

    def test_slow_member_does_not_delay_the_deadline(self) -> None:
        for background in (True, False):
            self.grid.plans = ["hang"]
            g = self.make(background=background)
            began = time.monotonic()
            with self.assertRaises(snowgrid.DeadlineError):
                g.next(0.3)
            self.assertLess(time.monotonic() - began, 0.6)

    def test_token_that_changes(self) -> None:
        self.grid.renew = 60
        tokens = iter("abcdefgh" * 100)
        self.make(token=lambda: next(tokens)).next()
        with tempfile.NamedTemporaryFile("w", suffix=".token") as f:
            f.write("of a file\n")
            f.flush()
            self.make(token_file=f.name).next()
        self.assertTrue(until(lambda: len(self.grid.requests) > 4))
        seen = {r["token"] for r in self.grid.sent("POST")}
        self.assertLessEqual({"Bearer a", "Bearer b", "Bearer of a file"}, seen)


class Errors(WithMember):
    def test_deadline(self) -> None:
        g = self.make(NOWHERE, "http://localhost:2")
        with self.assertRaises(snowgrid.DeadlineError) as caught:
            g.next(0.4)
        for part in ("'orders'", NOWHERE, "http://localhost:2", "refused", "0.4 s", "check that"):
            self.assertIn(part, str(caught.exception))
        self.assertIsInstance(caught.exception, TimeoutError)

    def test_corrections_are_immediate(self) -> None:
        for code in ("not_found", "conflict", "bad_request", "invalid_config", "unauthenticated",
                     "denied"):
            self.grid.plans = [{"code": code}]
            began = time.monotonic()
            with self.assertRaises(snowgrid.RequestError) as caught:
                self.make().next(5)
            self.assertLess(time.monotonic() - began, 1)
            self.assertEqual(caught.exception.code, code)
            self.assertIn("as planned", str(caught.exception))

    def test_correction_while_the_grant_lasts(self) -> None:
        self.grid.renew = 50
        g = self.make()
        g.next()
        self.grid.plans = [{"code": "denied"}]
        self.assertTrue(until(lambda: not self.grid.plans))
        time.sleep(0.05)
        g.next(0.1)

    def test_destroyed(self) -> None:
        self.grid.renew = 50
        g = self.make()
        g.next()
        self.grid.plans = [{"code": "destroyed"}]

        def ended() -> bool:
            try:
                g.next(0.1)
            except snowgrid.DestroyedError as e:
                return "'orders'" in str(e)
            return False

        self.assertTrue(until(ended))
        sent = len(self.grid.requests)
        time.sleep(0.5)
        self.assertEqual(len(self.grid.requests), sent)
        with self.assertRaises(snowgrid.DestroyedError):
            g.next_many(3)

    def test_detached(self) -> None:
        self.grid.renew = 50
        g = self.make(create={})
        before = g.next()
        with self.grid.lock:
            self.grid.plans = [{"code": "detached"}]
        self.assertTrue(until(lambda: self.grid.node == 18))
        after = g.next()
        self.assertGreater(after, before)
        self.assertEqual(g.decompose(after).node, 18)
        first = [r["body"] for r in self.grid.sent("POST") if "grant" not in r["body"]]
        self.assertEqual([b["create"] for b in first], [{}, {}])

    def test_exhausted(self) -> None:
        self.grid.extra = {"ends": BEGAN}
        with self.assertRaises(snowgrid.ExhaustedError):
            self.make().next(1)

    def test_reply_of_another_server(self) -> None:
        self.grid.extra = {"now": "soon"}
        with self.assertRaisesRegex(snowgrid.DeadlineError, "field now of the reply is 'soon'"):
            self.make().next(0.3)

    def test_copies(self) -> None:
        copiers: List[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, pickle.dumps]
        for copied in copiers:
            with self.assertRaisesRegex(TypeError, "make one in each process"):
                copied(self.make())

    def test_options(self) -> None:
        for address in ("http://ids.internal:7948", "ids:7948", "https://h/path", "https://h:x",
                        ""):
            with self.assertRaises(ValueError):
                Generator(address, "orders")
        with self.assertRaises(ValueError):
            Generator([], "orders")
        with self.assertRaises(ValueError):
            Generator(NOWHERE, "")
        with self.assertRaises(OSError):
            Generator("https://ids.internal:7948", "orders", ca_file="/does/not/exist")
        Generator("http://ids.internal:7948", "orders", insecure=True)


class Ends(WithMember):
    def test_close_releases(self) -> None:
        with self.make() as g:
            last = g.decompose(g.next()).time
        (release,) = self.grid.sent("DELETE")
        self.assertEqual(release["body"]["grant"], "g1.1")
        self.assertGreaterEqual(release["body"]["last"], last)
        with self.assertRaises(snowgrid.ClosedError):
            g.next()
        began = time.monotonic()
        g.close()
        self.assertLess(time.monotonic() - began, 1)
        self.assertEqual(len(self.grid.sent("DELETE")), 1)
        self.assertEqual(g.decompose(g.min_id(BEGAN)).time, BEGAN)

    def test_close_without_a_request(self) -> None:
        self.make().close()
        self.assertEqual(self.grid.requests, [])

    def test_close_is_bounded_and_tries_each_address(self) -> None:
        second = self.enter(Member(self.grid))
        g = self.make(self.member.address, second.address, call_timeout=0.2)
        g.next()
        self.grid.plans = ["hang"]
        g.close()
        self.assertEqual(len(self.grid.sent("DELETE")), 2)
        g = self.make()
        g.next()
        self.grid.plans = ["hang"]
        began = time.monotonic()
        g.close(0.3)
        self.assertLess(time.monotonic() - began, 0.6)

    def test_close_during_the_first_request(self) -> None:
        g = self.make()
        self.grid.plans = ["close", None]
        caller = threading.Thread(target=lambda: self.assertRaises(
            snowgrid.ClosedError, g.next, 5))
        with self.grid.lock:
            caller.start()
            time.sleep(0.1)
            closer = threading.Thread(target=g.close)
            closer.start()
            time.sleep(0.05)
            self.grid.plans = []
        closer.join()
        caller.join()
        self.assertEqual(self.grid.sent("DELETE")[0]["body"]["grant"], "g1.1")
        self.assertEqual(self.grid.nodes, {})

    def test_a_deleted_generator_releases(self) -> None:
        self.grid.renew = 50
        g = Generator(self.member.address, "orders")
        g.next()
        del g
        gc.collect()
        self.assertTrue(until(lambda: len(self.grid.sent("DELETE")) == 1))


if __name__ == "__main__":
    unittest.main()
