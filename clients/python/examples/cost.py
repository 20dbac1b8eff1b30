"""Measures an ID of a generator beside a plain Snowflake generator and POST /v1/ids.

    python3 -m examples.cost http://127.0.0.1:7948

Each line is a way to get an ID, and the nanoseconds for one. The lowest of five rounds counts.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
import urllib.parse
from typing import Callable

from snowgrid import Generator


class Plain:
    """A generator without a grid: the wall clock, a fixed node, and a lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.last = self.counter = 0

    def next(self) -> int:
        with self.lock:
            now = time.time_ns() // 1_000_000
            self.counter = self.counter + 1 if now <= self.last else 0
            while self.counter == 4096 or now < self.last:
                now, self.counter = time.time_ns() // 1_000_000, 0
            self.last = now
            return (now - 1_767_225_600_000) << 22 | 7 << 12 | self.counter


def measure(name: str, per_call: int, calls: int, call: Callable[[], object]) -> None:
    best = None
    for _ in range(5):
        began = time.perf_counter_ns()
        for _ in range(calls):
            call()
        took = (time.perf_counter_ns() - began) // (calls * per_call)
        best = took if best is None else min(best, took)
    print(name, best, flush=True)


def main() -> None:
    address = urllib.parse.urlsplit(sys.argv[1])
    connection = http.client.HTTPConnection(address.netloc)

    def post(count: int) -> None:
        body = json.dumps({"name": "cost", "n": count})
        connection.request("POST", "/v1/ids", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            sys.exit(f"POST /v1/ids: {response.read()!r}")
        assert len(json.load(response)["ids"]) == count

    # Of 128 nodes each has 65,536 IDs in a millisecond: the ID space bounds nothing here.
    with Generator([sys.argv[1]], "cost", create={"nodes": 128}) as ids:
        ids.next()
        measure("next", 1, 200_000, ids.next)
        measure("next in batches of 1000", 1000, 300, lambda: ids.next_many(1000))
    measure("plain Snowflake", 1, 200_000, Plain().next)
    measure("POST /v1/ids", 1, 200, lambda: post(1))
    measure("POST /v1/ids in batches of 1000", 1000, 20, lambda: post(1000))


if __name__ == "__main__":
    main()
