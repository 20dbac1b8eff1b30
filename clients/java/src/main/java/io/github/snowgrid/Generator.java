package io.github.snowgrid;

import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Makes unique, time-ordered 64-bit IDs of a sequencer under a grant (docs/grants.md). It is safe
 * for any number of platform and virtual threads.
 */
public final class Generator implements AutoCloseable {
    /**
     * Errors that need a correction: a call without a usable grant throws them immediately (G12).
     */
    private static final Set<String> IMMEDIATE = Set.of("not_found", "conflict", "bad_request",
            "invalid_config", "unauthenticated", "denied");
    private static final long MS = 1_000_000; // ns
    private static final long RETRY_MAX = 3_600_000; // ms

    /** An error of a request. */
    private record Failure(String code, String message) {
        /** Returns the failure that an answer of an address states. */
        static Failure of(String to, int status, Map<String, Object> fields) {
            String answer = to + " answers HTTP " + status;
            if (fields.get("code") instanceof String code && !code.isEmpty()) {
                return new Failure(code, answer + ": " + fields.get("message"));
            }
            boolean tls = status == 400 && to.startsWith("http://");
            return new Failure("", answer + " without a code: it is another server"
                    + (tls ? "; give https:// if it speaks TLS" : ""));
        }

        @Override
        public String toString() {
            return code.isEmpty() ? message : message + " (" + code + ")";
        }
    }

    private final Options options;
    private final Http http;
    private final long base = System.nanoTime();

    private final ReentrantLock lock = new ReentrantLock(); // guards what follows
    /** A request has a result, or the generator ended. */
    private final Condition changed = lock.newCondition();
    private final GrantState state =
            new GrantState(below -> below > 0 ? ThreadLocalRandom.current().nextLong(below) : 0);
    private int address; // of the next request
    private int copy; // counts calls of forget
    private boolean closing;
    private int overdue; // calls that wait since an eighth of their timeout; others let them pass
    private long ids; // since the last reply
    private long waits;
    private Failure failure; // of the last request

    /**
     * Returns a generator. It does no I/O; the first request is sent in the background or by the
     * first call.
     */
    public Generator(Options options) {
        options.checkClearText();
        this.options = options;
        http = new Http(options);
        if (options.background) {
            Thread thread = new Thread(this::renew, "snowgrid-" + options.name);
            thread.setDaemon(true);
            thread.start();
        }
    }

    /** Returns an ID. It waits at most for the options' timeout. */
    public long next() {
        return next(options.timeout);
    }

    /** Returns an ID. It waits at most for the timeout. */
    public long next(Duration timeout) {
        return nextMany(1, timeout)[0];
    }

    /** Returns n ascending IDs. It waits at most for the options' timeout. */
    public long[] nextMany(int n) {
        return nextMany(n, options.timeout);
    }

    /**
     * Returns n ascending IDs. It waits at most for the timeout; if that is too short, it returns
     * none of them.
     */
    public long[] nextMany(int n, Duration timeout) {
        Duration most = Options.bounded(timeout);
        long since = clock(); // its last ID
        long end = end(most);
        long[] made = new long[n];
        lock.lock();
        boolean late = false; // it counts in overdue
        try {
            boolean waited = false;
            boolean turn = most.toMillis() == 0; // a timestamp was left to it
            for (int i = 0; i < n;) {
                if (closing) {
                    throw ended(GrantState.End.ENDED);
                }
                long now = nanos();
                long at = now / MS;
                if (!late && at - since > most.toMillis() / 8) {
                    late = true;
                    overdue++;
                }
                long id = late || overdue == 0 ? state.next(at) : ~1L;
                if (id >= 0) {
                    made[i++] = id;
                    ids++;
                    overdue -= late ? 1 : 0;
                    late = false;
                    since = at;
                    continue;
                }
                long wait = ~id;
                if (late && !turn && wait == 1) {
                    turn = true; // even if the thread runs again only after the end
                    end = Math.max(end, nanos(at + 1));
                }
                await(now, wait, end, most, waited || wait == 1); // 1 ms is no wait for a grant
                waited |= wait != 1;
            }
            if (requestDue() && end - nanos() > 0) {
                request(end);
            }
            return made;
        } catch (GrantState.EndException e) {
            throw ended(e.end);
        } finally {
            overdue -= late ? 1 : 0;
            lock.unlock();
        }
    }

    /**
     * Returns the layout of the sequencer. It waits for the first reply, at most for the options'
     * timeout.
     */
    public Layout layout() {
        long end = end(options.timeout);
        lock.lock();
        try {
            while (state.layout() == null) {
                if (closing || state.end() != null) {
                    throw ended(closing ? GrantState.End.ENDED : state.end());
                }
                await(nanos(), 0, end, options.timeout, true);
            }
            return state.layout();
        } finally {
            lock.unlock();
        }
    }

    /** Returns the time, node and counter of an ID. It waits for the layout. */
    public Layout.Parts decompose(long id) {
        return layout().decompose(id);
    }

    /** Returns the smallest possible ID of a time in Unix milliseconds. It waits for the layout. */
    public long minId(long time) {
        return layout().minId(time);
    }

    /** Returns the largest possible ID of a time in Unix milliseconds. It waits for the layout. */
    public long maxId(long time) {
        return layout().maxId(time);
    }

    /**
     * Forgets the grant and takes another one. Call it in a process that was restored from a
     * snapshot (CRaC, CRIU) before it makes an ID: the grant belongs to the original (G9).
     */
    public void forget() {
        lock.lock();
        try {
            copy++;
            state.forked();
            ids = waits = 0;
            failure = null;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Releases the grant within the time of one call. A request in progress has half of that time
     * to end (G10). If no member answers the release, the node is free again after a window.
     */
    @Override
    public void close() {
        // An interrupt, as of shutdownNow, does not end the release.
        boolean interrupted = Thread.interrupted();
        interrupted |= release(end(options.callTimeout));
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Releases the grant, and returns whether the thread was interrupted meanwhile. */
    private boolean release(long end) {
        boolean interrupted = false;
        GrantState.Release release;
        Map<String, Object> body;
        int first;
        lock.lock();
        try {
            if (closing) {
                return false;
            }
            closing = true;
            changed.signalAll();
            try {
                long half = end - options.callTimeout.toNanos() / 2;
                while (state.end() == null && !state.ready() && half - nanos() > 0) {
                    changed.awaitNanos(half - nanos());
                }
            } catch (InterruptedException e) {
                interrupted = true;
            }
            release = state.release();
            body = Options.release(release.grant(), release.last(), ids, waits);
            first = address;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        for (int i = 0; i < options.addresses.size() && !release.grant().isEmpty()
                && end - nanos() > 0; i++) {
            String to = options.addresses.get((first + i) % options.addresses.size());
            try {
                Http.Answer answer = http.send("DELETE", to, Json.write(body),
                        limit((end - nanos()) / (options.addresses.size() - i)));
                if (answer.status() < 500 && answer.status() != 421 && answer.status() != 429) {
                    return interrupted;
                }
            } catch (InterruptedException e) {
                interrupted = true;
                i--; // the same address again
            } catch (IOException | RuntimeException e) {
                continue; // at the next address
            }
        }
        return interrupted;
    }

    private long nanos() {
        return System.nanoTime() - base;
    }

    /** Returns the time for a request that may take so many nanoseconds. */
    private Duration limit(long nanos) {
        return Duration.ofNanos(Math.max(MS, Math.min(options.callTimeout.toNanos(), nanos)));
    }

    /** Returns milliseconds in nanoseconds. */
    private static long nanos(long ms) {
        return Math.min(ms, Long.MAX_VALUE / MS) * MS;
    }

    /** Returns the reading of the monotonic clock in whole milliseconds. */
    private long clock() {
        return nanos() / MS;
    }

    private long end(Duration timeout) {
        return nanos() + timeout.toNanos();
    }

    /**
     * Waits until an ID may be made: for wait ms from the ms of now on, the time of the last try,
     * or for a reply if wait is 0. The lock is released meanwhile.
     */
    private void await(long now, long wait, long end, Duration timeout, boolean waited) {
        if (requestDue() && now < end) {
            waits += waited ? 0 : 1;
            request(end);
            return;
        }
        if (wait == 0 && failure != null && IMMEDIATE.contains(failure.code)) {
            throw new SnowgridException(failure.code,
                    text(": " + failure, "Correct what the message names."));
        }
        if (now >= end) {
            throw late(wait, timeout);
        }
        waits += waited ? 0 : 1;
        long until = end;
        if (wait > 0) {
            until = Math.min(until, nanos(now / MS + wait));
        }
        if (!options.background && state.ready()) {
            until = Math.min(until, nanos(state.due()));
        }
        try {
            changed.awaitNanos(until - nanos());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SnowgridException("interrupted", text(": the thread was interrupted", ""));
        }
    }

    private SnowgridException late(long wait, Duration timeout) {
        String last = failure == null ? "" : "; last error: " + failure;
        if (wait > 0) {
            return new SnowgridException("timeout",
                    text(" within " + timeout.toMillis() + " ms" + last,
                    "The next timestamp begins in " + wait + " ms. Give a longer timeout."));
        }
        return new SnowgridException("timeout", text(" within " + timeout.toMillis() + " ms"
                + (failure == null ? "; no reply yet" : last),
                "Check with snowgrid status that members run at these addresses, "
                        + "or give a longer timeout."));
    }

    private SnowgridException ended(GrantState.End end) {
        return switch (end) {
            case DESTROYED -> new DestroyedException(text(": the sequencer was destroyed",
                    "Make a new generator if the name was created again: "
                            + "it is another sequencer."));
            case EXHAUSTED -> new SnowgridException("exhausted",
                    text(": its layout has no timestamps left",
                    "Use a sequencer with a later epoch."));
            case ENDED -> new SnowgridException("ended", text(": the generator is closed",
                    "Make a new generator."));
        };
    }

    private String text(String what, String remedy) {
        return "snowgrid: no ID of the sequencer \"" + options.name + "\" from "
                + String.join(", ", options.addresses) + what + ". " + remedy;
    }

    /** Returns whether a call for an ID has to send a request. */
    private boolean requestDue() {
        return !options.background && !closing && state.ready() && state.due() <= clock();
    }

    /** Renews the grant until the generator ends. */
    private void renew() {
        lock.lock();
        try {
            while (!closing && state.end() == null) {
                long wait = nanos(state.due()) - nanos();
                if (state.ready() && wait <= 0) {
                    request(Long.MAX_VALUE);
                } else {
                    changed.awaitNanos(state.ready() ? wait : Long.MAX_VALUE);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }

    /** Sends a request and applies its result. The lock is released meanwhile. */
    private void request(long end) {
        String grant = state.request(clock());
        int original = copy;
        long sentIds = ids;
        long sentWaits = waits;
        String body = Json.write(options.body(grant, sentIds, sentWaits));
        Duration limit = limit(end - nanos());
        String to = options.addresses.get(address);
        Reply reply = null;
        Failure failed = null;
        long retryAfter = 0;
        lock.unlock();
        try {
            Http.Answer answer = http.send("POST", to, body, limit);
            if (answer.status() == 200) {
                reply = Reply.of(Json.readObject(answer.body()));
            } else {
                Map<String, Object> fields = Json.readObject(answer.body());
                failed = Failure.of(to, answer.status(), fields);
                retryAfter = fields.get("retry_after_ms") instanceof Long n
                        ? Math.max(0, Math.min(n, RETRY_MAX)) : 0;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            failed = new Failure("", "the request was interrupted");
        } catch (IOException | RuntimeException e) {
            failed = new Failure("", to + ": " + e.getMessage());
        } finally {
            lock.lock();
        }
        if (copy != original) {
            return; // the result belongs to the original (G9)
        }
        if (failed == null) {
            state.replied(clock(), reply);
            ids -= sentIds;
            waits -= sentWaits;
        } else {
            state.refused(clock(), failed.code, retryAfter);
            address = (address + 1) % options.addresses.size();
        }
        boolean cut = failed != null && failed.code.isEmpty()
                && limit.compareTo(options.callTimeout) < 0;
        failure = cut && failure != null ? failure
                : failed; // an earlier error says more than a short time
        changed.signalAll();
    }
}
