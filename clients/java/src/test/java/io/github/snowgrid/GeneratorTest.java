package io.github.snowgrid;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of the generator against a fake server. */
public final class GeneratorTest {
    private interface Test {
        void run(FakeServer server) throws Exception;
    }

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
        test("request lost", GeneratorTest::lost);
        test("corrections", GeneratorTest::corrections);
        test("damaged reply", GeneratorTest::damaged);
        test("large reply", GeneratorTest::large);
        test("interrupt", GeneratorTest::interrupt);
        test("token and labels", GeneratorTest::token);
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

    static Options options(FakeServer server) {
        return new Options("orders", server.address());
    }

    private static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void renewal(FakeServer server) throws Exception {
        server.posts = r -> server.grant(5, 0, 300, 50);
        try (Generator g = new Generator(options(server).create(Map.of("nodes", 1024)))) {
            for (int i = 0; i < 80; i++) {
                g.next(Duration.ofMillis(200));
                Thread.sleep(10);
            }
        }
        List<FakeServer.Request> posts = server.posts();
        check(posts.size() >= 8 && posts.size() <= 20, posts.size());
        check(posts.get(0).body().get("name").equals("orders"), posts.get(0));
        check(posts.get(0).body().get("create").equals(Map.of("nodes", 1024L)), posts.get(0));
        long used = 0;
        for (int i = 0; i < posts.size(); i++) {
            check(i == 0 || ("g1." + i).equals(posts.get(i).grant()), posts.get(i));
            check(i == 0 || !posts.get(i).body().containsKey("create"), posts.get(i));
            used += (long) ((Map<?, ?>) posts.get(i).body().get("used")).get("ids");
        }
        used += (long) ((Map<?, ?>) server.deletes().get(0).body().get("used")).get("ids");
        check(used == 80, used);
    }

    private static void renewalInCalls(FakeServer server) throws Exception {
        server.posts = r -> server.grant(5, 0, 300, 50);
        try (Generator g = new Generator(options(server).background(false))) {
            Thread.sleep(100);
            check(server.requests.isEmpty(), server.requests);
            for (int i = 0; i < 50; i++) {
                g.next(Duration.ofMillis(500));
                Thread.sleep(10);
            }
        }
        int posts = server.posts().size();
        check(posts >= 5 && posts <= 12, posts);
    }

    private static void failover(FakeServer server) throws Exception {
        String dead;
        try (FakeServer other = new FakeServer()) {
            dead = other.address();
        }
        try (Generator g = new Generator(new Options("orders", dead, server.address()))) {
            long from = System.nanoTime();
            g.next(Duration.ofSeconds(3));
            check(System.nanoTime() - from < 1_500_000_000L, "took too long");
        }
        check(server.posts().get(0).grant() == null, server.requests);
    }

    private static void destroyed(FakeServer server) throws Exception {
        server.posts = r -> r.grant() == null ? server.grant(5, 0, 2000, 50)
                : FakeServer.error(410, "destroyed", 0);
        Generator g = new Generator(options(server));
        g.next();
        Thread.sleep(300);
        for (int i = 0; i < 2; i++) {
            SnowgridException e = fails("destroyed", g::next);
            check(e instanceof DestroyedException && e.getMessage().contains("\"orders\""), e);
            Thread.sleep(400);
        }
        check(server.posts().size() == 2, server.requests);
        g.close();
    }

    private static void detached(FakeServer server) throws Exception {
        AtomicInteger count = new AtomicInteger();
        server.posts = r -> count.incrementAndGet() == 2 ? FakeServer.error(409, "detached", 0)
                : server.grant(count.get(), 0, 2000, 50);
        try (Generator g = new Generator(options(server))) {
            long first = g.next();
            check(g.decompose(first).node() == 1, first);
            Thread.sleep(150);
            long second = g.next();
            check(g.decompose(second).node() == 3 && second > first, second);
            check(server.posts().get(2).body().get("name").equals("orders"), server.requests);
        }
    }

    private static void release(FakeServer server) throws Exception {
        Generator g = new Generator(options(server));
        long id = g.next();
        long time = g.decompose(id).time();
        g.close();
        g.close();
        check(server.deletes().size() == 1, server.requests);
        Map<String, Object> body = server.deletes().get(0).body();
        check(body.get("last").equals(time)
                && body.get("grant").equals("g1." + server.posts().size()), body);
        fails("ended", g::next);

        // A request in progress brings a newer grant.
        server.posts = r -> {
            pause(r.grant() == null ? 0 : 300);
            return server.grant(5, 0, 5000, 50);
        };
        Generator busy = new Generator(options(server));
        busy.next();
        int posts = server.posts().size();
        while (server.posts().size() == posts) {
            pause(5);
        }
        busy.close();
        List<FakeServer.Request> sent = server.posts();
        check(server.deletes().get(1).grant().equals("g1." + sent.size()), server.requests);
        server.posts = r -> server.grant(5, 0, 5000, 1000);

        String dead = server.address();
        Generator silent = new Generator(new Options("orders",
                dead).callTimeout(Duration.ofMillis(300)));
        silent.next();
        server.close();
        long from = System.nanoTime();
        silent.close();
        check(System.nanoTime() - from < 1_000_000_000L, "close took too long");
    }

    private static void copy(FakeServer server) throws Exception {
        server.posts = r -> server.grant(r.grant() == null && server.posts().size() > 1 ? 6 : 5, 0,
                5000, 2000);
        try (Generator g = new Generator(options(server))) {
            check(g.decompose(g.next()).node() == 5, "node");
            g.forget();
            check(g.decompose(g.next()).node() == 6, "node after a copy");
        }
        check(server.posts().size() == 2 && server.posts().get(1).grant() == null, server.requests);
    }

    private static void overloaded(FakeServer server) throws Exception {
        server.posts = r -> server.posts().size() == 1 ? FakeServer.error(503, "overloaded", 900)
                : server.grant(5, 0, 2000, 100);
        try (Generator g = new Generator(options(server))) {
            SnowgridException e = fails("timeout", () -> g.next(Duration.ofMillis(500)));
            check(e.getMessage().contains("grid: text of overloaded (overloaded)"), e);
            g.next(Duration.ofSeconds(2));
        }
        long between = server.posts().get(1).at() - server.posts().get(0).at();
        check(between >= 890 && between < 2000, between);
    }

    private static void deadline(FakeServer server) throws Exception {
        server.posts = r -> FakeServer.error(503, "no_free_node", 0);
        for (boolean background : new boolean[] {true, false}) {
            Options o = new Options("orders", server.address(),
                    server.address()).background(background);
            try (Generator g = new Generator(o)) {
                long from = System.nanoTime();
                String text = fails("timeout", () -> g.next(Duration.ofMillis(500))).getMessage();
                long took = (System.nanoTime() - from) / 1_000_000;
                check(took >= 490 && took < 900, took);
                for (String part : List.of("\"orders\"", server.address() + ", " + server.address(),
                        "within 500 ms", "grid: text of no_free_node (no_free_node)",
                        "longer timeout")) {
                    check(text.contains(part), text);
                }
            }
        }
        server.posts = r -> server.grant(5, 700, 5000, 1000);
        try (Generator g = new Generator(options(server))) {
            String text = fails("timeout", () -> g.next(Duration.ofMillis(300))).getMessage();
            check(text.contains("The next timestamp begins in"), text);
            g.next(Duration.ofSeconds(1));
        }
    }

    private static void lost(FakeServer server) throws Exception {
        server.posts = r -> server.posts().size() == 2 ? null : server.grant(5, 0, 3000, 100);
        try (Generator g = new Generator(options(server).callTimeout(Duration.ofMillis(300)))) {
            g.next();
            for (int i = 0; i < 100; i++) {
                g.next(Duration.ofMillis(5));
                Thread.sleep(10);
            }
        }
        List<FakeServer.Request> posts = server.posts();
        check(posts.get(1).grant().equals("g1.1") && posts.get(2).grant().equals("g1.1"), posts);
        check(posts.get(2).at() - posts.get(1).at() >= 400, posts);
    }

    private static void corrections(FakeServer server) throws Exception {
        for (String code : List.of("not_found", "conflict", "bad_request", "invalid_config",
                "unauthenticated",
                "denied")) {
            server.posts = r -> FakeServer.error(400, code, 0);
            try (Generator g = new Generator(options(server))) {
                long from = System.nanoTime();
                fails(code, () -> g.next(Duration.ofSeconds(5)));
                check(System.nanoTime() - from < 1_000_000_000L, "not immediately");
                server.posts = r -> server.grant(5, 0, 5000, 50);
                int posts = server.posts().size();
                while (server.posts().size() < posts + 2) {
                    Thread.sleep(20); // until the reply to the first of two more requests
                }
                g.next();
                server.posts = r -> FakeServer.error(400, code, 0);
                Thread.sleep(200);
                g.next();
            }
        }
    }

    private static void damaged(FakeServer server) throws Exception {
        server.posts = r -> {
            FakeServer.Answer answer = server.grant(5, 0, 5000, 50);
            answer.body().remove("until");
            return answer;
        };
        try (Generator g = new Generator(options(server))) {
            String text = fails("timeout", () -> g.next(Duration.ofSeconds(1))).getMessage();
            check(text.contains("the reply has until null"), text);
        }
    }

    private static void large(FakeServer server) throws Exception {
        server.posts = r -> {
            FakeServer.Answer answer = server.grant(5, 0, 5000, 50);
            answer.body().put("more", "x".repeat(1 << 17));
            return answer;
        };
        try (Generator g = new Generator(options(server))) {
            String text = fails("timeout", () -> g.next(Duration.ofSeconds(1))).getMessage();
            check(text.contains("the reply has more than 65536 bytes"), text);
        }
    }

    private static void interrupt(FakeServer server) throws Exception {
        server.posts = r -> FakeServer.error(503, "unavailable", 0);
        for (boolean background : new boolean[] {true, false}) {
            try (Generator g = new Generator(options(server).background(background))) {
                Thread thread = Thread.currentThread();
                new Thread(() -> {
                    try {
                        Thread.sleep(200);
                    } catch (InterruptedException e) {
                        return;
                    }
                    thread.interrupt();
                }).start();
                fails("interrupted", () -> g.next(Duration.ofSeconds(5)));
                check(Thread.interrupted(), "the thread is not interrupted any more");
            }
        }
    }

    private static void token(FakeServer server) throws Exception {
        AtomicInteger count = new AtomicInteger();
        server.posts = r -> server.grant(5, 0, 300, 50);
        try (Generator g = new Generator(options(server).labels(Map.of("host", "a\"b\u00e9"))
                .token(() -> "t" + count.incrementAndGet()))) {
            g.next();
            Thread.sleep(200);
        }
        check(server.posts().get(0).authorization().equals("Bearer t1"), server.requests);
        check(server.posts().get(1).authorization().equals("Bearer t2"), server.requests);
        check(server.posts().get(0).body().get("labels").equals(Map.of("host", "a\"b\u00e9")),
                server.requests);
    }
}
