/** What the IDs of a sequencer consist of. Times are Unix milliseconds. */
export interface Layout {
  readonly epoch: number;
  readonly time_shift: number;
  readonly node_shift: number;
  readonly counters: number;
  /** No ID has this timestamp or a later one. */
  readonly ends: number;
}

export interface Parts {
  /** Unix milliseconds. */
  time: number;
  node: number;
  counter: number;
}

/** Returns the parts of an ID. */
export function decompose(layout: Layout, id: bigint | string): Parts {
  const value = BigInt(id);
  const shift = BigInt(layout.time_shift);
  const low = Number(BigInt.asUintN(layout.time_shift, value));
  return {
    time: Number(value >> shift) + layout.epoch,
    node: Math.floor(low / 2 ** layout.node_shift),
    counter: low % 2 ** layout.node_shift,
  };
}

/** Returns the smallest ID that a time can have. */
export function minId(layout: Layout, time: number | Date): bigint {
  const within = Math.min(Math.max(Math.floor(Number(time)), layout.epoch), layout.ends - 1);
  return BigInt(within - layout.epoch) << BigInt(layout.time_shift);
}

/** Returns the largest ID that a time can have. */
export function maxId(layout: Layout, time: number | Date): bigint {
  return minId(layout, time) + (1n << BigInt(layout.time_shift)) - 1n;
}

/** Returns whether every ID of a layout is an exact number. */
export function fitsNumber(layout: Layout): boolean {
  return (layout.ends - layout.epoch) * 2 ** layout.time_shift <= 2 ** 53;
}

/** Returns a layout's bits, low bits and nodes: "63/23/8192". */
export function layoutText(l: Layout): string {
  const bits = Math.ceil(Math.log2(l.ends - l.epoch)) + l.time_shift;
  return `${bits}/${l.time_shift}/${2 ** (l.time_shift - l.node_shift)}`;
}
