"""Makes IDs at a steady rate, and writes each as eight bytes, the highest first.

    python3 -m examples.steady --addrs https://a:7948,https://b:7948 --name orders --ca ca.crt \\
      --token-file token --ids 1000000 --seconds 60 --out ids

The tests of several languages together run it.
"""

from __future__ import annotations

import argparse
import struct
import time

from snowgrid import Generator


def main() -> None:
    parser = argparse.ArgumentParser()
    for flag in ("addrs", "name", "ca", "token-file", "out"):
        parser.add_argument("--" + flag, required=True)
    parser.add_argument("--ids", type=int, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    args = parser.parse_args()
    chunk = max(1, args.ids // args.seconds // 20)
    made = 0
    with Generator(
        args.addrs.split(","), args.name, create={}, ca_file=args.ca, token_file=args.token_file
    ) as orders, open(args.out, "wb") as out:
        while made < args.ids:
            ids = orders.next_many(min(chunk, args.ids - made), timeout=300)
            out.write(struct.pack(f">{len(ids)}Q", *ids))
            made += len(ids)
            time.sleep(0.05)


if __name__ == "__main__":
    main()
