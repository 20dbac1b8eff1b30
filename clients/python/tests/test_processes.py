"""Tests of threads, asyncio, child processes and TLS against a fake member."""

from __future__ import annotations

import asyncio
import os
import shutil
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import unittest.mock
from typing import Callable, List, Tuple

import snowgrid
from snowgrid import Generator
from snowgrid.session import now_ms

from .fake import LONG, Grid, Member, WithMember, until


class Tls(WithMember):
    def test_tls(self) -> None:
        openssl = shutil.which("openssl")
        if openssl is None:
            self.skipTest("openssl makes the certificate of this test")
        with tempfile.TemporaryDirectory() as d:
            cert, key = os.path.join(d, "cert.pem"), os.path.join(d, "key.pem")
            subprocess.run([
                openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                "/CN=test", "-addext", "subjectAltName=DNS:member.snowgrid", "-keyout", key,
                "-out", cert,
            ], check=True, stderr=subprocess.DEVNULL)
            server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=cert)
            server.load_cert_chain(cert, key)
            server.verify_mode = ssl.CERT_REQUIRED
            grid = Grid(renew=50)
            with Member(grid, server) as member:
                with Generator(member.address, "orders", ca_file=cert, cert_file=cert,
                               key_file=key, call_timeout=LONG) as g:
                    g.next(LONG)
                    self.assertTrue(until(lambda: len(grid.requests) > 4))
                    connections = member.connections
                self.assertEqual((connections, len(grid.sent("DELETE"))), (1, 1))
                with Generator(member.address, "orders") as g:
                    self.fails_with("verify failed", g)
                with Generator(member.address, "orders", ca_file=cert, cert_file=cert, key_file=key,
                               server_name="other") as g:
                    self.fails_with("ostname mismatch", g)
                with Generator(member.address, "orders", ca_file=cert, cert_file=cert, key_file=key,
                               server_name="") as g:
                    self.fails_with("IP address mismatch", g)
                with Generator(member.address, "orders", ca_file=cert) as g:
                    self.fails_with("last error: http", g)


class Threads(WithMember):
    def test_threads(self) -> None:
        g = self.make()
        streams: List[List[int]] = [[] for _ in range(4)]

        def run(stream: List[int]) -> None:
            for i in range(5000):
                stream.extend([g.next()] if i % 10 else g.next_many(20))

        threads = [threading.Thread(target=run, args=(s,)) for s in streams]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for s in streams:
            self.assertEqual(s, sorted(s))
        every = [i for s in streams for i in s]
        self.assertEqual(len(every), len(set(every)))
        self.assertEqual(len(self.grid.sent("POST")), 1)

    def test_fair(self) -> None:
        """Callers that use up every millisecond leave IDs to others, even to those that run again
        only after their timeout."""
        g = self.make()
        g.next()
        end = time.monotonic() + 2
        errors: List[Exception] = []

        def call(n: int, timeout: float) -> None:
            try:
                while time.monotonic() < end:
                    g.next(timeout) if n == 1 else g.next_many(n, timeout)
            except snowgrid.DeadlineError as e:
                errors.append(e)

        kinds = [(3000, 10 * LONG), (1, 0.6), (1, 0.001), (1, 0.001)] * 8
        threads = [threading.Thread(target=call, args=kind) for kind in kinds]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(errors, [])

    def test_asyncio(self) -> None:
        for background in (True, False):
            self.grid.plans = ["hang", "hang"]
            self.grid.requests = []
            g = self.make(background=background)

            async def requests(count: int) -> None:
                while len(self.grid.requests) < count:
                    await asyncio.sleep(0.005)

            async def run() -> List[int]:
                first = asyncio.ensure_future(g.next_async())
                await asyncio.wait_for(requests(1), LONG)
                self.assertFalse(first.done())  # the loop goes on during the request
                self.grid.go_on()
                await asyncio.wait_for(requests(2), LONG)
                with self.assertRaises(snowgrid.DeadlineError):
                    await g.next_async(0.2)
                self.assertEqual(g._session.overdue, 0)
                self.grid.go_on()
                await first
                tasks = [g.next_many_async(3000) for _ in range(4)] + [g.next_many_async(1)]
                ids = [i for part in await asyncio.gather(*tasks) for i in part]
                ids.append(await g.next_async())
                await g.close_async(LONG)
                return ids

            ids = asyncio.run(run())
            self.assertEqual(len(set(ids)), 12_002)
            self.assertEqual(self.grid.nodes, {})


@unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
class Forks(WithMember):
    def child(self, run: Callable[[], str]) -> str:
        """Runs a function in a child process, and returns what it returns."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.write(write, run().encode())
            except BaseException as e:
                os.write(write, repr(e).encode())
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as f:
            text = f.read()
        os.waitpid(pid, 0)
        return text

    def test_child_takes_its_own(self) -> None:
        self.grid.renew = 100
        g = self.make()
        mine = g.next()
        theirs = int(self.child(lambda: str(g.next())))
        self.assertEqual((g.decompose(mine).node, g.decompose(theirs).node), (17, 18))
        sent = len(self.grid.sent("POST"))
        self.assertTrue(until(lambda: len(self.grid.sent("POST")) >= sent + 3))
        self.assertEqual(g.decompose(g.next()).node, 17)

    def test_grandchild(self) -> None:
        g = self.make()
        g.next()
        text = self.child(lambda: str(g.next()) + "," + self.child(lambda: str(g.next())))
        nodes = [g.decompose(int(i)).node for i in text.split(",")]
        self.assertEqual(nodes, [18, 19])

    def test_child_does_not_release(self) -> None:
        g = self.make()
        g.next()
        self.child(lambda: str(g.close()))  # type: ignore[func-returns-value]
        self.assertEqual(self.grid.sent("DELETE"), [])
        self.assertEqual(g.decompose(g.next()).node, 17)

    def test_without_the_hook(self) -> None:
        """The check of the process ID alone suffices."""
        g = self.make()
        g.next()
        session = g._session

        def run() -> str:
            g._session = session
            return str(g.next())

        self.assertEqual(g.decompose(int(self.child(run))).node, 18)

    def test_fork_during_a_call(self) -> None:
        """A coroutine that waits at the fork continues in both processes."""
        g = self.make()
        g.next()

        async def take(call: "asyncio.Task[List[int]]") -> str:
            try:
                return f"{len(set(await call))} IDs"
            except snowgrid.SnowgridError as e:
                return str(e)

        async def fork() -> Tuple[str, str]:
            at = now_ms() + 1000  # for the call: it waits until then for the next counter
            with unittest.mock.patch("snowgrid.session.now_ms", lambda: at):
                call = asyncio.ensure_future(g.next_many_async(2000))
                for _ in range(3):
                    await asyncio.sleep(0)
                read, write = os.pipe()
                pid = os.fork()
            if pid == 0:
                try:
                    os.write(write, (await take(call)).encode())
                finally:
                    os._exit(0)
            os.close(write)
            mine = await take(call)
            with os.fdopen(read) as f:
                theirs = f.read()
            os.waitpid(pid, 0)
            return mine, theirs

        mine, theirs = asyncio.run(fork())
        self.assertEqual(mine, "2000 IDs")
        self.assertIn("the process was forked during the call; call again", theirs)

    def test_locks_that_are_held(self) -> None:
        self.grid.renew = 20
        g = self.make()
        g.next()
        busy = threading.Event()

        def use() -> None:
            while not busy.is_set():
                g.next_many(50)

        def use_and_close() -> str:
            with g:
                return str(g.next())

        threads = [threading.Thread(target=use) for _ in range(3)]
        for t in threads:
            t.start()
        try:
            texts = [self.child(use_and_close) for _ in range(15)]
            with g._session.lock:
                texts.append(self.child(lambda: str(g.next())))
        finally:
            busy.set()
            for t in threads:
                t.join()
        nodes = [g.decompose(int(t)).node for t in texts]
        self.assertEqual(len(set(nodes)), 16)


if __name__ == "__main__":
    unittest.main()
