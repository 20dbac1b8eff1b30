"""The parts of an ID."""

from __future__ import annotations

from typing import NamedTuple


class Parts(NamedTuple):
    """What an ID consists of. time is in Unix milliseconds."""

    time: int
    node: int
    counter: int


class Layout(NamedTuple):
    """The formula of a sequencer's IDs (G1), as in each reply. Times are Unix milliseconds."""

    epoch: int
    time_shift: int
    node_shift: int
    counters: int
    ends: int

    def decompose(self, id: int) -> Parts:
        """Returns the time, the node and the counter of an ID."""
        if not 0 <= id <= self.max_id(self.ends):
            raise ValueError(
                f"snowgrid: {id} is no ID of this layout; IDs are 0 to {self.max_id(self.ends)}"
            )
        node = (id & ((1 << self.time_shift) - 1)) >> self.node_shift
        return Parts((id >> self.time_shift) + self.epoch, node, id & ((1 << self.node_shift) - 1))

    def min_id(self, time: int) -> int:
        """Returns the smallest possible ID of a time; a time outside counts as the nearest one."""
        return (min(max(time, self.epoch), self.ends - 1) - self.epoch) << self.time_shift

    def max_id(self, time: int) -> int:
        """Returns the largest possible ID of a time; a time outside counts as the nearest one."""
        return self.min_id(time) | ((1 << self.time_shift) - 1)
