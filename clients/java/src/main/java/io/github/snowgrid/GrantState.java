package io.github.snowgrid;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;

/**
 * The rules G1 to G12 of docs/grants.md, and nothing else: no I/O, clock or threads. Times are
 * whole milliseconds: {@code at} is a reading of the monotonic clock, and a timestamp is Unix time.
 * Not safe for concurrent use.
 */
final class GrantState {
    private static final int TIMES_MAX = 10; // replies whose times count (G2)
    private static final long TIMES_FOR =
    60_000; // ms for which the time of a reply counts after it (G2)
    private static final long FIRST_PAUSE = 300; // ms, after a failure (G8)
    private static final long LAST_PAUSE = 3000; // ms

    /** Why no ID will ever be made. */
    enum End { DESTROYED, EXHAUSTED, ENDED }

    /** The state makes no ID any more. */
    static final class EndException extends RuntimeException {
        private static final long serialVersionUID = 1;
        final End end;

        EndException(End end) {
            super(end.name(), null, false, false);
            this.end = end;
        }
    }

    /** A range of timestamps of one node: from <= t < until. */
    private static final class Span {
        final long node;
        final long from;
        long until;

        Span(long node, long from, long until) {
            this.node = node;
            this.from = from;
            this.until = until;
        }
    }

    /** The time that a reply showed when it was received: the grid's time minus at. */
    private record Reading(long at, long offset) {
    }

    private final LongUnaryOperator jitter; // a number from 0 to its argument-1
    private final List<Span> spans = new ArrayList<>(); // in the order of their use
    private final List<Reading> times = new ArrayList<>(); // of the last replies
    private String grant = "";
    private Layout layout; // of the last reply
    private long ahead; // the grid's time is at and this (G2)
    private long due; // when to send the next request
    private long pause = FIRST_PAUSE; // after the next failure
    private boolean asked; // a request has no result yet
    private long last = -1; // timestamp of the last ID
    private long node; // of the last ID
    private long counter; // the next one in that timestamp
    private End end;

    GrantState(LongUnaryOperator jitter) {
        this.jitter = jitter;
    }

    /** Returns when the next request is to be sent (G8). */
    long due() {
        return due;
    }

    /** Returns whether no request is in progress, and one is to be sent when it is due. */
    boolean ready() {
        return !asked && end == null;
    }

    End end() {
        return end;
    }

    /** Returns the layout of the last reply, or null. */
    Layout layout() {
        return layout;
    }

    /** Returns the grant to send, "" to take one. */
    String request(long at) {
        asked = true;
        due = at;
        return grant;
    }

    /** Applies a reply that was received at a time. */
    void replied(long at, Reply r) {
        asked = false;
        pause = FIRST_PAUSE;
        if (end != null) {
            return;
        }
        grant = r.grant();
        layout = r.layout();
        due = at + r.renewIn();
        times.removeIf(t -> t.at < at - TIMES_FOR);
        times.add(new Reading(at, r.now() - at));
        if (times.size() > TIMES_MAX) {
            times.remove(0);
        }
        ahead = times.stream().mapToLong(Reading::offset).max().getAsLong();
        long now = at + ahead;
        spans.removeIf(s -> s.until <= now && s.until <= r.from());
        Span s = spans.isEmpty() ? null : spans.get(spans.size() - 1);
        if (s != null && s.node == r.node() && r.from() <= s.until) { // no gap (G7)
            s.until = Math.max(s.until, r.until()); // G5
        } else if (r.from() < r.until()) {
            spans.add(new Span(r.node(), r.from(), r.until())); // G6
        }
    }

    /**
     * Applies a request that got no grant (G8, G12): code is the error code, "" without a reply.
     */
    void refused(long at, String code, long retryAfter) {
        asked = false;
        if (code.equals("destroyed")) {
            end = End.DESTROYED;
        } else if (code.equals("detached")) { // it was released (G10)
            grant = "";
            spans.clear();
        }
        due = at + Math.max(retryAfter, pause - jitter.applyAsLong(pause / 2));
        pause = Math.min(2 * pause, LAST_PAUSE);
    }

    /** Returns an ID, or ~wait if none can be made before a wait in ms; 0 is a wait for a reply. */
    long next(long at) {
        if (end != null) {
            throw new EndException(end);
        }
        long now = at + ahead;
        while (!spans.isEmpty()) {
            Span s = spans.get(0);
            long t = Math.max(now, s.from);
            long c = 0;
            if (t <= last) {
                if (s.node == node && counter < layout.counters()) { // G3, G4
                    t = last;
                    c = counter;
                } else {
                    t = last + 1;
                }
            }
            if (t >= s.until) {
                spans.remove(0); // G1
                continue;
            }
            if (t >= layout.ends()) {
                throw new EndException(End.EXHAUSTED);
            }
            if (t > now && t != last) {
                return ~(t - now); // G3
            }
            last = t;
            node = s.node;
            counter = c + 1;
            return (t - layout.epoch()) << layout.timeShift() | node << layout.nodeShift() | c;
        }
        return ~0L;
    }

    /** Forgets the grant: it belongs to the process that this one is a copy of (G9). */
    void forked() {
        grant = "";
        layout = null;
        spans.clear();
        times.clear();
        ahead = 0;
        due = 0;
        pause = FIRST_PAUSE;
        asked = false;
        node = -1;
        counter = 0;
    }

    /** A grant to release, "" for none, and the timestamp of the last ID, 0 for none. */
    record Release(String grant, long last) {
    }

    /** Ends the generator (G10). */
    Release release() {
        Release release = new Release(grant, Math.max(last, 0));
        grant = "";
        spans.clear();
        end = End.ENDED;
        return release;
    }
}
