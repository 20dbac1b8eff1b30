package io.github.snowgrid;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Tests of many threads. */
final class ThreadsTest {
    private ThreadsTest() {
    }

    /**
     * Returns an executor with a virtual thread for each task, if Java has them, else with platform
     * threads.
     */
    private static ExecutorService executor() throws ReflectiveOperationException {
        if (Runtime.version().feature() < 21) {
            return Executors.newFixedThreadPool(400);
        }
        return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor")
                .invoke(null);
    }

    /** IDs of 64 threads are different and ascend in each. */
    static void threads(FakeServer server) throws Exception {
        ExecutorService executor = executor();
        try (Generator g = new Generator(GeneratorTest.options(server))) {
            List<Future<long[]>> streams = new ArrayList<>();
            for (int i = 0; i < 64; i++) {
                streams.add(executor.submit(() -> {
                    long[] ids = new long[2000];
                    for (int j = 0; j < ids.length; j++) {
                        ids[j] = g.next();
                        GeneratorTest.check(j == 0 || ids[j] > ids[j - 1], "IDs do not ascend");
                    }
                    return ids;
                }));
            }
            long[] all = new long[0];
            for (Future<long[]> stream : streams) {
                long[] ids = stream.get();
                all = Arrays.copyOf(all, all.length + ids.length);
                System.arraycopy(ids, 0, all, all.length - ids.length, ids.length);
            }
            GeneratorTest.check(Arrays.stream(all).distinct().count() == 128_000, "equal IDs");
            GeneratorTest.check(g.decompose(all[0]).node() == 5, g.decompose(all[0]));
            long time = g.decompose(all[0]).time();
            GeneratorTest.check(g.minId(time) <= all[0] && all[0] <= g.maxId(time), "range");
        } finally {
            executor.shutdown();
        }
    }

    /**
     * Callers that take all IDs of each millisecond leave some to one another, even to those that
     * run again only after their timeout.
     */
    static void fair(FakeServer server) throws Exception {
        server.posts = r -> server.grant(5, 0, 120_000, 60_000);
        ExecutorService executor = executor();
        try (Generator g = new Generator(GeneratorTest.options(server))) {
            g.next();
            long end = System.nanoTime() + 2_000_000_000L;
            List<Future<?>> callers = new ArrayList<>();
            for (int i = 0; i < 400; i++) {
                Duration timeout = Duration.ofMillis(i % 2 == 0 ? 1000 : 1);
                callers.add(executor.submit(() -> {
                    while (System.nanoTime() < end) {
                        g.next(timeout);
                    }
                }));
            }
            for (Future<?> caller : callers) {
                caller.get();
            }
        } finally {
            executor.shutdown();
        }
    }

    /** An interrupt ends a call that waits. */
    static void interrupt(FakeServer server) {
        server.posts = r -> FakeServer.error(503, "unavailable", 0);
        for (boolean background : new boolean[] {true, false}) {
            Options options = GeneratorTest.options(server).background(background);
            try (Generator g = new Generator(options)) {
                Thread thread = Thread.currentThread();
                new Thread(() -> {
                    try {
                        Thread.sleep(200);
                    } catch (InterruptedException e) {
                        return;
                    }
                    thread.interrupt();
                }).start();
                GeneratorTest.fails("interrupted", g::next);
                GeneratorTest.check(Thread.interrupted(), "the thread is not interrupted any more");
            }
        }
    }

    /** A thread that is interrupted, as by shutdownNow, releases the grant, and stays interrupted. */
    static void interruptedClose(FakeServer server) {
        for (boolean background : new boolean[] {true, false}) {
            server.requests.clear();
            Generator g = new Generator(GeneratorTest.options(server).background(background));
            g.next();
            Thread.currentThread().interrupt();
            g.close();
            GeneratorTest.check(Thread.interrupted(), "not interrupted any longer");
            GeneratorTest.check(server.deletes().size() == 1, server.requests);
        }
    }
}
