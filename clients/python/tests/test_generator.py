"""Tests of the generator against a fake member: requests, errors and the end."""

from __future__ import annotations

import copy
import gc
import pickle
import socket
import ssl
import tempfile
import threading
import time
import unittest
from typing import Any, Callable, List

import snowgrid
from snowgrid import Generator
from snowgrid.transport import Options, Transport

from .fake import BEGAN, LONG, NOWHERE, Member, WithMember, renew_now, until


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
        self.grid.window = 120_000  # a call that waits would send a request itself
        end = time.monotonic() + LONG
        while len(self.grid.sent("POST")) < 10 and time.monotonic() < end:
            ids.append(g.next())
            time.sleep(0.005)
        self.assertEqual(ids, sorted(set(ids)))
        self.assertEqual({g.decompose(i).node for i in ids}, {17})
        posts = self.grid.sent("POST")
        self.assertGreaterEqual(len(posts), 10)
        for a, b in zip(posts, posts[1:]):
            self.assertGreaterEqual(b["at"] - a["at"], 0.099)  # in whole milliseconds
        self.assertEqual([p["body"].get("grant") for p in posts[1:4]], ["g1.1", "g1.2", "g1.3"])
        self.assertFalse(any("create" in p["body"] or "name" in p["body"] for p in posts[1:]))
        self.assertEqual(self.member.connections, 1)
        g.close()
        used = sum(r["body"]["used"]["ids"] for r in self.grid.requests)
        self.assertEqual(used, len(ids))

    def test_renewal_without_background(self) -> None:
        threads = threading.active_count()
        with self.make(background=False) as g:
            first = g.next()
            second = g.next()
            self.assertEqual(len(self.grid.sent("POST")), 1)
            renew_now(g)
            time.sleep(0.1)
            self.assertEqual(len(self.grid.sent("POST")), 1)
            third = g.next()
            self.assertEqual(len(self.grid.sent("POST")), 2)
            self.assertEqual([first, second, third], sorted({first, second, third}))
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
        self.assertLess(time.monotonic() - began, LONG / 2)
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
        g = self.make()
        g.next()
        machine = g._session.machine
        refused: List[Any] = []
        machine.refused = lambda *args: refused.append(args)  # type: ignore[method-assign]
        g._session._transport._connection.sock.shutdown(socket.SHUT_RD)  # type: ignore
        renew_now(g)
        self.assertTrue(until(lambda: refused or machine.grant == "g1.2"))
        self.assertEqual(refused, [])

    def test_overloaded(self) -> None:
        self.grid.plans = [{"code": "overloaded", "retry_after_ms": 700}]
        self.make().next()
        first, second = self.grid.sent("POST")
        self.assertGreaterEqual(second["at"] - first["at"], 0.699)
        self.grid.plans = [{"code": "overloaded", "retry_after_ms": 60_000}]
        self.fails_with("overloaded: as planned", self.make())
        time.sleep(0.6)
        self.assertEqual(len(self.grid.sent("POST")), 3)

    def test_times_that_are_too_long(self) -> None:
        """They end no background, and an error delays the next request by an hour at most."""
        self.grid.plans = [{"code": "overloaded", "retry_after_ms": 10**30}]
        g = self.make()
        self.fails_with("overloaded: as planned", g)
        self.assertEqual(g._session.fault.retry_after_ms, 3_600_000)  # type: ignore[union-attr]
        self.grid.renew = 1 << 52
        other = self.make()
        other.next()
        time.sleep(0.1)
        self.assertTrue(other._session._thread.is_alive())  # type: ignore[union-attr]

    def test_request_lost(self) -> None:
        g = self.make()
        g.next()
        g._session.settings = g._session.settings._replace(call_timeout=0.3)
        self.grid.plans = ["lose", "hang"]
        renew_now(g)
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
            self.assertEqual(g._session.overdue, 0)
            self.assertLess(time.monotonic() - began, LONG / 2)

    def test_token_that_changes(self) -> None:
        self.grid.renew = 60
        tokens = iter("abcdefgh" * 100)
        self.make(token=lambda: next(tokens)).next()
        with tempfile.NamedTemporaryFile("w", suffix=".token") as f:
            f.write("of a file\n")
            f.flush()
            self.make(token_file=f.name).next()
        tokens_sent = {"Bearer a", "Bearer b", "Bearer of a file"}
        self.assertTrue(until(lambda: {r["token"] for r in self.grid.sent("POST")} >= tokens_sent))


class Errors(WithMember):
    def test_deadline(self) -> None:
        g = self.make(NOWHERE, "http://localhost:2")
        message = self.fails_with("refused", g, 0.4)
        for part in ("'orders'", NOWHERE, "http://localhost:2", "0.4 s", "check that"):
            self.assertIn(part, message)
        self.assertTrue(issubclass(snowgrid.DeadlineError, TimeoutError))

    def test_corrections_are_immediate(self) -> None:
        for code in ("not_found", "conflict", "bad_request", "invalid_config", "unauthenticated",
                     "denied"):
            self.grid.plans = [{"code": code}]
            began = time.monotonic()
            with self.make() as g, self.assertRaises(snowgrid.RequestError) as caught:
                g.next()
            self.assertLess(time.monotonic() - began, LONG / 2)
            self.assertEqual(caught.exception.code, code)
            self.assertIn("as planned", str(caught.exception))

    def test_correction_while_the_grant_lasts(self) -> None:
        g = self.make()
        g.next()
        self.grid.plans = [{"code": "denied"}] * 1000
        renew_now(g)
        self.assertTrue(until(lambda: g._session.fault))
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
            self.make().next()

    def test_reply_of_another_server(self) -> None:
        self.grid.extra = {"now": "soon"}
        self.fails_with("field now of the reply is 'soon'", self.make())

    def test_server_with_tls(self) -> None:
        self.grid.plans = ["tls"] * 1000
        self.fails_with("without a code; is it a member? Write https:// if it speaks TLS", self.make())

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
        with self.assertRaisesRegex(FileNotFoundError, "/does/not/exist"):
            Generator("https://ids.internal:7948", "orders", ca_file="/does/not/exist")
        with self.assertRaisesRegex(ssl.SSLError, f"unusable PEM in {__file__}"):
            Generator("https://ids.internal:7948", "orders", ca_file=__file__)
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
        g.close(LONG)
        self.assertLess(time.monotonic() - began, LONG / 2)
        self.assertEqual(len(self.grid.sent("DELETE")), 1)
        self.assertEqual(g.decompose(g.min_id(BEGAN)).time, BEGAN)

    def test_close_without_a_request(self) -> None:
        self.make().close()
        self.assertEqual(self.grid.requests, [])

    def test_close_is_bounded_and_tries_each_address(self) -> None:
        second = self.enter(Member(self.grid))
        g = self.make(self.member.address, second.address)
        g.next()
        g._session.settings = g._session.settings._replace(call_timeout=0.2)
        self.grid.plans = ["hang"]
        g.close()
        self.assertTrue(until(lambda: len(self.grid.sent("DELETE")) == 2))
        g = self.make()
        g.next()
        self.grid.plans = ["hang"]
        began = time.monotonic()
        g.close(0.3)
        self.assertLess(time.monotonic() - began, LONG / 2)

    def test_close_during_the_first_request(self) -> None:
        g = self.make()
        errors: List[Exception] = []

        def call() -> None:
            try:
                g.next()
            except Exception as e:
                errors.append(e)

        caller = threading.Thread(target=call)
        closer = threading.Thread(target=g.close, args=(LONG,))
        with self.grid.lock:  # the member does not answer
            caller.start()
            self.assertTrue(until(lambda: g._session.machine.asked))
            closer.start()
            self.assertTrue(until(lambda: g._session.machine.ended))
        closer.join()
        caller.join()
        self.assertEqual([type(e) for e in errors], [snowgrid.ClosedError])
        self.assertEqual(self.grid.sent("DELETE")[0]["body"]["grant"], "g1.1")
        self.assertEqual(self.grid.nodes, {})

    def test_a_request_takes_its_whole_time(self) -> None:
        self.grid.plans = ["hang"]
        transport = Transport(Options((self.member.address,), *[None] * 6))
        began = time.monotonic()
        with self.assertRaisesRegex(snowgrid.RequestError, "no reply in time"):
            transport.call("POST", {"name": "orders"}, 0.3)
        took = time.monotonic() - began
        self.assertTrue(0.3 <= took < LONG / 2, took)

    def test_a_deleted_generator_releases(self) -> None:
        self.grid.renew = 50
        g = Generator(self.member.address, "orders")
        g.next()
        del g
        gc.collect()
        self.assertTrue(until(lambda: len(self.grid.sent("DELETE")) == 1))


if __name__ == "__main__":
    unittest.main()
