package io.github.snowgrid;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Makes IDs from several threads against a running member, and checks that no two are equal and
 * that those of each thread ascend. Arguments: base address, threads, IDs of each thread.
 * Environment: TLS_DIR for certificates.
 */
public final class Load {
    private static final int LOOP = 3_000_000;

    public static void main(String[] args) throws Exception {
        int threads = args.length > 1 ? Integer.parseInt(args[1]) : 64;
        int each = args.length > 2 ? Integer.parseInt(args[2]) : 20_000;
        unique(args[0], threads, each);
        measure(args[0], "default", Map.of());
        measure(args[0], "wide", Map.of("nodes", 128));
    }

    private static Options options(String address, String name, Map<String, ?> create) {
        Options options = new Options(name,
                address.split(",")).create(create).timeout(Duration.ofSeconds(60));
        String tls = System.getenv("TLS_DIR");
        if (tls != null) {
            options.caFile(Path.of(tls, "ca.crt"));
            if (System.getenv("TOKEN") != null) {
                options.token(System.getenv("TOKEN"));
            } else {
                options.certificate(Path.of(tls, "holder.crt"), Path.of(tls, "holder.key"));
            }
        }
        return options;
    }

    private static void unique(String address, int threads, int each) throws Exception {
        long[] all = new long[threads * each];
        AtomicReference<Throwable> failure = new AtomicReference<>();
        try (Generator g = new Generator(options(address, "load", Map.of()))) {
            Thread[] running = new Thread[threads];
            long from = System.nanoTime();
            for (int i = 0; i < threads; i++) {
                int first = i * each;
                running[i] = new Thread(() -> {
                    try {
                        for (int j = 0; j < each; j++) {
                            long id = all[first + j] = g.next();
                            if (j > 0 && id <= all[first + j - 1]) {
                                throw new AssertionError(id + " follows " + all[first + j - 1]);
                            }
                        }
                    } catch (RuntimeException | AssertionError e) {
                        failure.set(e);
                    }
                });
                running[i].start();
            }
            for (Thread thread : running) {
                thread.join();
            }
            long took = System.nanoTime() - from;
            if (failure.get() != null) {
                throw new AssertionError(failure.get());
            }
            Arrays.sort(all);
            for (int i = 1; i < all.length; i++) {
                if (all[i] == all[i - 1]) {
                    throw new AssertionError("two IDs are " + all[i]);
                }
            }
            System.out.printf("%d threads, %d IDs, all different and ascending, %d ns per ID, "
                    + "nodes %d to %d%n",
                    threads, all.length, took / all.length, g.decompose(all[0]).node(),
                    g.decompose(all[all.length - 1]).node());
        }
    }

    private static void measure(String address, String name, Map<String, ?> create) {
        try (Generator g = new Generator(options(address, "measure-" + name, create))) {
            Layout layout = g.layout();
            for (int round = 0; round < 2; round++) { // the first one warms up
                long from = System.nanoTime();
                for (int i = 0; i < LOOP; i++) {
                    g.next();
                }
                long took = System.nanoTime() - from;
                from = System.nanoTime();
                for (int i = 0; i < LOOP / 1000; i++) {
                    g.nextMany(1000);
                }
                long many = System.nanoTime() - from;
                Plain plain = new Plain(layout);
                from = System.nanoTime();
                for (int i = 0; i < LOOP; i++) {
                    plain.next();
                }
                long alone = System.nanoTime() - from;
                System.out.printf("%s, %d counters a ms: %d ns per ID, "
                        + "%d in batches of 1000; plain Snowflake %d%n",
                        name, layout.counters(), took / LOOP, many / LOOP, alone / LOOP);
            }
        }
    }

    /** A Snowflake generator without a grid: the wall clock, a fixed node, and a lock. */
    private static final class Plain {
        private final Layout layout;
        private long last;
        private long counter;

        Plain(Layout layout) {
            this.layout = layout;
        }

        synchronized long next() {
            long t = System.currentTimeMillis();
            if (t <= last && ++counter < layout.counters()) {
                t = last;
            } else {
                while (t <= last) {
                    t = System.currentTimeMillis();
                }
                counter = 0;
            }
            last = t;
            return (t - layout.epoch()) << layout.timeShift() | 7L << layout.nodeShift() | counter;
        }
    }
}
