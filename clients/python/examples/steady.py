"""Makes IDs at a steady rate, and writes each as eight bytes, the highest first.

    python3 -m examples.steady --addrs https://a:7948,https://b:7948 --name orders --ca ca.crt \\
      --token-file token --ids 1000000 --seconds 60 --out ids --forks 8

With --forks, children that have the generator of their parent make as many IDs together, into the
files ids-0 to ids-7. The tests of several languages together run it.
"""

from __future__ import annotations

import argparse
import os
import struct
import sys
import time
from typing import BinaryIO

from snowgrid import Generator


def steady(orders: Generator, out: BinaryIO, total: int, seconds: int) -> None:
    chunk = max(1, total // seconds // 20)
    made = 0
    while made < total:
        ids = orders.next_many(min(chunk, total - made), timeout=300)
        out.write(struct.pack(f">{len(ids)}Q", *ids))
        made += len(ids)
        time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser()
    for flag in ("addrs", "name", "ca", "token-file", "out"):
        parser.add_argument("--" + flag, required=True)
    parser.add_argument("--ids", type=int, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--forks", type=int, default=0)
    args = parser.parse_args()
    with Generator(
        args.addrs.split(","), args.name, create={}, ca_file=args.ca, token_file=args.token_file
    ) as orders:
        with open(args.out, "wb") as out:
            out.write(struct.pack(">Q", orders.next(timeout=300)))  # the children have a used one
        children = []
        for i in range(args.forks):
            child = os.fork()
            if child == 0:
                with open(f"{args.out}-{i}", "wb") as out:
                    steady(orders, out, args.ids // args.forks, args.seconds)
                return
            children.append(child)
        with open(args.out, "ab") as out:
            steady(orders, out, args.ids, args.seconds)
    if any([os.waitpid(child, 0)[1] for child in children]):
        sys.exit("a child has failed")


if __name__ == "__main__":
    main()
