"""Makes IDs in threads, in asyncio and in a child process.

Start a grid of one member, and run this program in clients/python:

    snowgrid agent --expect 1 --data-dir ./data
    PYTHONPATH=. python3 examples/orders.py http://127.0.0.1:7948
"""

from __future__ import annotations

import asyncio
import datetime
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import snowgrid


def main() -> None:
    addresses = sys.argv[1:] or ["http://127.0.0.1:7948"]
    labels = {"service": "example", "pid": str(os.getpid())}
    with snowgrid.Generator(addresses, "orders", create={}, labels=labels) as orders:
        print("one ID:", orders.next())
        with ThreadPoolExecutor(4) as pool:
            print("of four threads:", list(pool.map(lambda _: orders.next(), range(4))))

        async def request() -> int:
            return await orders.next_async(timeout=1)

        print("in asyncio:", asyncio.run(request()))

        time, node, counter = orders.decompose(orders.next())
        when = datetime.datetime.fromtimestamp(time / 1000, datetime.timezone.utc)
        print(f"made at {when.isoformat()} by node {node}, counter {counter}")

        hour = 3_600_000
        first, last = orders.min_id(time - hour), orders.max_id(time)
        print(f"of the last hour: id BETWEEN {first} AND {last}")

        if hasattr(os, "fork"):
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                print("a child has its own node:", orders.decompose(orders.next()).node, flush=True)
                orders.close()
                os._exit(0)
            os.waitpid(child, 0)


if __name__ == "__main__":
    try:
        main()
    except snowgrid.SnowgridError as e:
        sys.exit(str(e))
