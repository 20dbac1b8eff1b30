package io.github.snowgrid;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

/** Tests of the generator against a fake server. */
public final class GeneratorTest {
    private interface Test {
        void run(FakeServer server) throws Exception;
    }

    /** The longest wait for what is to happen, however busy the machine is. */
    static final Duration LONG = Duration.ofSeconds(20);

    private static int passed;
    private static int failures;

    public static void main(String[] args) throws Exception {
        test("threads", ThreadsTest::threads);
        test("fair", ThreadsTest::fair);
        test("renewal", GeneratorTest::renewal);
        test("renewal in calls", GeneratorTest::renewalInCalls);
        test("failover", GeneratorTest::failover);
        test("destroyed", GeneratorTest::destroyed);
        test("detached", GeneratorTest::detached);
        test("release", GeneratorTest::release);
        test("copy", GeneratorTest::copy);
        test("overloaded", GeneratorTest::overloaded);
        test("deadline", GeneratorTest::deadline);
        test("request lost", RequestsTest::lost);
        test("request timeout", RequestsTest::timeout);
        test("corrections", RequestsTest::corrections);
        test("damaged reply", RequestsTest::damaged);
        test("large reply", RequestsTest::large);
        test("interrupt", ThreadsTest::interrupt);
        test("interrupted close", ThreadsTest::interruptedClose);
        test("token and labels", RequestsTest::token);
        test("clear text", server -> RequestsTest.clearText());
        test("addresses", server -> RequestsTest.addresses());
        test("other servers", RequestsTest::otherServers);
        test("TLS", server -> TlsTest.tls());
        test("JSON", server -> JsonTest.json());
        System.out.printf("%d passed, %d failed%n", passed, failures);
        if (failures > 0) {
            System.exit(1);
        }
    }

    private static void test(String name, Test test) {
        long from = System.nanoTime();
        try (FakeServer server = new FakeServer()) {
            test.run(server);
            passed++;
            System.out.printf("ok   %s (%d ms)%n", name, (System.nanoTime() - from) / 1_000_000);
        } catch (Exception | AssertionError e) {
            failures++;
            System.out.println("FAIL " + name);
            e.printStackTrace(System.out);
        }
    }

    static void check(boolean ok, Object message) {
        if (!ok) {
            throw new AssertionError(message);
        }
    }

    static SnowgridException fails(String code, Runnable call) {
        try {
            call.run();
        } catch (SnowgridException e) {
            check(e.code().equals(code), e);
            return e;
        }
        throw new AssertionError("no " + code);
    }

    /** Repeats a short call until the text of its timeout has a part. Returns the text. */
    static String failsWith(String part, Generator g) {
        String[] text = new String[1];
        await(part, () -> {
            text[0] = fails("timeout", () -> g.next(Duration.ofMillis(100))).getMessage();
            return text[0].contains(part);
        });
        return text[0];
    }

    /** Options with times that suffice on a busy machine. */
    static Options options(FakeServer server) {
        return new Options("orders", server.address()).callTimeout(LONG).timeout(LONG);
    }

    /** Waits until a condition holds. */
    static void await(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + LONG.toNanos();
        while (!condition.getAsBoolean()) {
            check(System.nanoTime() < end, "not within " + LONG + ": " + what);
            pause(5);
        }
    }

    static void awaitPosts(FakeServer server, int count) {
        await(count + " requests", () -> server.posts().size() >= count);
    }

    private static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void await(CountDownLatch gate) {
        try {
            check(gate.await(LONG.toSeconds(), TimeUnit.SECONDS), "not released within " + LONG);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Makes IDs until so many requests are sent. Returns how many IDs. */
    private static int nextUntilPosts(FakeServer server, Generator g, int count) {
        int[] ids = new int[1];
        await(count + " requests", () -> {
            g.next();
            ids[0]++;
            return server.posts().size() >= count;
        });
        return ids[0];
    }

    /** Requests have a pause between them; clocks in whole milliseconds read one less. */
    static void checkPauses(List<FakeServer.Request> posts, long least) {
        for (int i = 1; i < posts.size(); i++) {
            check(posts.get(i).at() - posts.get(i - 1).at() >= least - 1, posts);
        }
    }

    private static void renewal(FakeServer server) {
        server.posts = r -> server.grant(5, 0, 300, 50);
        int ids;
        try (Generator g = new Generator(options(server).create(Map.of("nodes", 1024)))) {
            ids = nextUntilPosts(server, g, 12);
        }
        List<FakeServer.Request> posts = server.posts();
        checkPauses(posts, 50);
        check(posts.get(0).body().get("name").equals("orders"), posts.get(0));
        check(posts.get(0).body().get("create").equals(Map.of("nodes", 1024L)), posts.get(0));
        long used = 0;
        for (int i = 0; i < posts.size(); i++) {
            check(i == 0 || ("g1." + i).equals(posts.get(i).grant()), posts.get(i));
            check(i == 0 || !posts.get(i).body().containsKey("create"), posts.get(i));
            used += (long) ((Map<?, ?>) posts.get(i).body().get("used")).get("ids");
        }
        used += (long) ((Map<?, ?>) server.deletes().get(0).body().get("used")).get("ids");
        check(used == ids, used + " of " + ids);
    }

    private static void renewalInCalls(FakeServer server) {
        server.posts = r -> server.grant(5, 0, 60_000, 50);
        try (Generator g = new Generator(options(server).background(false))) {
            pause(100);
            check(server.requests.isEmpty(), server.requests);
            nextUntilPosts(server, g, 8);
            pause(150);
            check(server.posts().size() == 8, server.requests);
        }
        checkPauses(server.posts(), 50);
    }

    private static void failover(FakeServer server) throws Exception {
        String dead;
        try (FakeServer other = new FakeServer()) {
            dead = other.address();
        }
        try (Generator g = new Generator(new Options("orders", dead, server.address()))) {
            g.next();
        }
        check(server.posts().get(0).grant() == null, server.requests);
    }

    private static void destroyed(FakeServer server) {
        server.posts = r -> r.grant() == null ? server.grant(5, 0, 60_000, 50)
                : FakeServer.error(410, "destroyed", 0);
        Generator g = new Generator(options(server));
        g.next();
        await("destroyed", () -> {
            try {
                g.next();
                return false;
            } catch (DestroyedException e) {
                return true;
            }
        });
        pause(600);
        SnowgridException e = fails("destroyed", g::next);
        check(e instanceof DestroyedException && e.getMessage().contains("\"orders\""), e);
        check(server.posts().size() == 2, server.requests);
        g.close();
    }

    private static void detached(FakeServer server) {
        AtomicInteger count = new AtomicInteger();
        CountDownLatch made = new CountDownLatch(1);
        server.posts = r -> {
            int n = Math.min(count.incrementAndGet(), 3);
            if (n == 2) {
                await(made);
                return FakeServer.error(409, "detached", 0);
            }
            return server.grant(n, 0, 60_000, 50);
        };
        try (Generator g = new Generator(options(server))) {
            long first = g.next();
            check(g.decompose(first).node() == 1, first);
            made.countDown();
            await("an ID of the next grant", () -> g.decompose(g.next()).node() == 3);
            long second = g.next();
            check(g.decompose(second).node() == 3 && second > first, second);
            check(server.posts().get(2).body().get("name").equals("orders"), server.requests);
        }
    }

    private static void release(FakeServer server) throws Exception {
        server.posts = r -> server.grant(5, 0, 60_000, 30_000);
        Generator g = new Generator(options(server));
        long id = g.next();
        long time = g.decompose(id).time();
        g.close();
        g.close();
        check(server.deletes().size() == 1, server.requests);
        Map<String, Object> body = server.deletes().get(0).body();
        check(body.get("last").equals(time) && body.get("grant").equals("g1.1"), body);
        fails("ended", g::next);

        // A request in progress brings a newer grant.
        CountDownLatch closing = new CountDownLatch(1);
        server.posts = r -> {
            if (r.grant() != null) {
                await(closing);
            }
            return server.grant(5, 0, 60_000, 50);
        };
        Generator busy = new Generator(options(server));
        busy.next();
        awaitPosts(server, 3);
        Thread close = new Thread(busy::close);
        close.start();
        await("closing", () -> {
            try {
                busy.next();
                return false;
            } catch (SnowgridException e) {
                return e.code().equals("ended");
            }
        });
        pause(50); // for a release that does not wait
        closing.countDown();
        close.join();
        check(server.deletes().get(1).grant().equals("g1.3"), server.requests);

        server.posts = r -> server.grant(5, 0, 60_000, 30_000);
        server.deletes = r -> null;
        Generator silent = new Generator(options(server).callTimeout(Duration.ofMillis(300)));
        silent.next();
        long from = System.nanoTime();
        silent.close();
        check(System.nanoTime() - from < LONG.toNanos() / 2, "close took too long");
    }

    private static void copy(FakeServer server) {
        server.posts = r -> server.grant(r.grant() == null && server.posts().size() > 1 ? 6 : 5, 0,
                60_000, 30_000);
        try (Generator g = new Generator(options(server))) {
            check(g.decompose(g.next()).node() == 5, "node");
            g.forget();
            check(g.decompose(g.next()).node() == 6, "node after a copy");
        }
        check(server.posts().size() == 2 && server.posts().get(1).grant() == null, server.requests);
    }

    private static void overloaded(FakeServer server) {
        server.posts = r -> server.posts().size() == 1 ? FakeServer.error(503, "overloaded", 900)
                : server.grant(5, 0, 60_000, 30_000);
        try (Generator g = new Generator(options(server))) {
            g.next();
        }
        check(server.posts().size() == 2, server.requests);
        checkPauses(server.posts(), 900);
        server.posts = r -> FakeServer.error(503, "overloaded", 60_000);
        try (Generator g = new Generator(options(server))) {
            failsWith("grid: text of overloaded (overloaded)", g);
            pause(600);
            check(server.posts().size() == 3, server.requests);
        }
    }

    private static void deadline(FakeServer server) {
        server.posts = r -> FakeServer.error(503, "no_free_node", 0);
        for (boolean background : new boolean[] {true, false}) {
            Options o = new Options("orders", server.address(),
                    server.address()).background(background);
            try (Generator g = new Generator(o)) {
                String[] text = new String[1];
                await("the error of the request", () -> {
                    long from = System.nanoTime();
                    text[0] = fails("timeout", () -> g.next(Duration.ofMillis(500))).getMessage();
                    long took = (System.nanoTime() - from) / 1_000_000;
                    check(took >= 490 && took < LONG.toMillis() / 2, took);
                    return text[0].contains("grid: text of no_free_node (no_free_node)");
                });
                for (String part : List.of("\"orders\"", server.address() + ", " + server.address(),
                        "within 500 ms", "longer timeout")) {
                    check(text[0].contains(part), text[0]);
                }
            }
        }
        server.posts = r -> server.grant(5, 60_000, 90_000, 30_000);
        try (Generator g = new Generator(options(server))) {
            failsWith("The next timestamp begins in", g);
        }
        AtomicLong from = new AtomicLong();
        server.posts = r -> {
            FakeServer.Answer answer = server.grant(5, 700, 60_000, 30_000);
            from.set((long) answer.body().get("from"));
            return answer;
        };
        Duration forever = ChronoUnit.FOREVER.getDuration();
        try (Generator g = new Generator(options(server).callTimeout(forever).timeout(forever))) {
            long time = g.decompose(g.next(forever)).time();
            check(time >= from.get(), time + " is before " + from);
        }
    }
}
