"""A member of a grid with just enough of /v1/grants for tests."""

from __future__ import annotations

import http.server
import json
import threading
import time
import unittest
from typing import Any, Callable, Dict, List, Optional

from snowgrid import DeadlineError, Generator
from snowgrid.session import now_ms

LAYOUT = {"epoch": 1767225600000, "time_shift": 23, "node_shift": 10, "counters": 1024,
          "ends": 2866737227776}
BEGAN = 1795645800000
LONG = 20.0  # seconds: the longest wait for what is to happen, however busy the machine is
NOWHERE = "http://127.0.0.1:1"  # refuses connections


class Grid:
    """What the members share. plans has what happens to the next requests: an error as a dict, or
    "lose" (the request is carried out, and its reply is lost), "last" (it is the last one of its
    connection), "hang", "close", "html", or
    "tls" (what a server with TLS answers in clear text)."""

    def __init__(self, window: int = 120_000, renew: int = 60_000) -> None:
        self.window, self.renew = window, renew
        self.lock = threading.Lock()
        self.node = 16
        self.nodes: Dict[str, int] = {}
        self.requests: List[Dict[str, Any]] = []
        self.plans: List[Any] = []
        self.text = 0
        self.extra: Dict[str, Any] = {}  # fields of each reply
        self.hang = threading.Event()  # ends the requests that hang

    def now(self) -> int:
        return BEGAN + time.monotonic_ns() // 1_000_000

    def serve(self, method: str, request: Dict[str, Any]) -> Dict[str, Any]:
        if method == "DELETE":
            self.nodes.pop(request["grant"], None)
            return {}
        node = self.nodes.pop(request.get("grant", ""), None)
        if node is None:
            self.node += 1
            node = self.node
        self.text += 1
        text = f"g1.{self.text}"
        self.nodes[text] = node
        now = self.now()
        return {"grant": text, "replaced": False, "node": node, "from": now - 100,
                "until": now + self.window, "now": now, "renew_in_ms": self.renew, **LAYOUT,
                **self.extra}

    def go_on(self) -> None:
        """Ends the requests that hang now."""
        hang, self.hang = self.hang, threading.Event()
        hang.set()

    def sent(self, method: str) -> List[Dict[str, Any]]:
        with self.lock:
            return [r for r in self.requests if r["method"] == method]


class Member:
    """A server of a grid. Use it as a context manager."""

    def __init__(self, grid: Grid, tls: Any = None) -> None:
        member = self
        self.grid, self.connections = grid, 0

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                member.connections += 1

            def log_message(self, *args: Any) -> None:
                pass

            def serve(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with grid.lock:
                    grid.requests.append({
                        "method": self.command, "path": self.path, "body": body,
                        "token": self.headers.get("Authorization"), "port": member.port,
                        "at": time.monotonic(), "type": self.headers.get("Content-Type"),
                    })
                    plan = grid.plans.pop(0) if grid.plans else None
                    hang = grid.hang
                    if plan in (None, "lose", "last"):
                        reply, status = grid.serve(self.command, body), 200
                    elif isinstance(plan, dict):
                        reply, status = {"message": "as planned", **plan}, 503
                if plan in ("lose", "hang"):
                    hang.wait(3 * LONG)
                if plan in ("lose", "hang", "close"):
                    self.close_connection = True
                    return
                other = {"html": (502, b"<html>"), "tls": (400, b"Client sent an HTTP request")}
                if plan in ("html", "tls"):
                    status, text = other[plan]
                else:
                    text = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                if plan == "last":
                    self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(text)

            do_POST = do_DELETE = serve

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *args: Any) -> None:
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        if tls is not None:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.address = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}"
        self.thread: Optional[threading.Thread] = None

    def __enter__(self) -> Member:
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *args: object) -> None:
        self.grid.hang.set()
        self.server.shutdown()
        self.server.server_close()


def until(condition: Callable[[], Any], seconds: float = LONG) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.005)
    return False


def renew_now(g: Generator) -> None:
    """Makes the next request due."""
    with g._session.lock:
        g._session.machine.due = now_ms()
        g._session.changed.notify_all()


class WithMember(unittest.TestCase):
    def setUp(self) -> None:
        self.grid = Grid()
        self.member = self.enter(Member(self.grid))

    def enter(self, manager: Any) -> Any:
        value = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return value

    def fails_with(self, text: str, g: Generator, seconds: float = 0.1) -> str:
        """Repeats a short call until the message of its error has a text. Returns the message."""
        message = ""

        def fails() -> bool:
            nonlocal message
            with self.assertRaises(DeadlineError) as caught:
                g.next(seconds)
            message = str(caught.exception)
            return text in message

        self.assertTrue(until(fails), f"{text!r} is not in {message!r}")
        return message

    def make(self, *addresses: str, **options: Any) -> Generator:
        times = {"timeout": LONG, "call_timeout": LONG}
        made = Generator(addresses or (self.member.address,), "orders", **{**times, **options})
        self.addCleanup(made.close, 0.5)
        return made
