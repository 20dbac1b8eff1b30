package io.github.snowgrid;

/**
 * The layout of a sequencer's IDs. Times are Unix milliseconds; IDs have times from {@code epoch}
 * on and before {@code ends}.
 */
public record Layout(long epoch, int timeShift, int nodeShift, long counters, long ends) {

    /** The parts of an ID. */
    public record Parts(long time, long node, long counter) {
    }

    /** Returns the time, node and counter of an ID. */
    public Parts decompose(long id) {
        return new Parts(epoch + (id >>> timeShift), (id & (1L << timeShift) - 1) >>> nodeShift,
                id & (1L << nodeShift) - 1);
    }

    /**
     * Returns the smallest possible ID of a time. A time outside the layout counts as its nearest
     * millisecond.
     */
    public long minId(long time) {
        return Math.max(epoch, Math.min(time, ends - 1)) - epoch << timeShift;
    }

    /**
     * Returns the largest possible ID of a time. A time outside the layout counts as its nearest
     * millisecond.
     */
    public long maxId(long time) {
        return minId(time) | (1L << timeShift) - 1;
    }
}
