package io.github.snowgrid;

import static io.github.snowgrid.GeneratorTest.LONG;
import static io.github.snowgrid.GeneratorTest.await;
import static io.github.snowgrid.GeneratorTest.awaitPosts;
import static io.github.snowgrid.GeneratorTest.check;
import static io.github.snowgrid.GeneratorTest.fails;
import static io.github.snowgrid.GeneratorTest.failsWith;
import static io.github.snowgrid.GeneratorTest.options;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of requests, and of answers that are no grants. */
final class RequestsTest {
    private RequestsTest() {
    }

    /** A request without a reply is repeated with the same grant, and IDs go on meanwhile. */
    static void lost(FakeServer server) {
        AtomicInteger renewals = new AtomicInteger();
        server.posts = r -> r.grant() != null && renewals.incrementAndGet() == 1 ? null
                : server.grant(5, 0, 60_000, 100);
        List<Long> sent = new CopyOnWriteArrayList<>();
        Options options = options(server).callTimeout(Duration.ofMillis(300)).token(() -> {
            sent.add(System.nanoTime() / 1_000_000); // before the time of the request begins
            return "" + (sent.size() - 1);
        });
        try (Generator g = new Generator(options)) {
            g.next();
            await("two renewals", () -> {
                g.next(Duration.ofMillis(5)); // without a wait for the request
                return renewals.get() >= 2;
            });
        }
        List<FakeServer.Request> posts = server.posts().stream().filter(r -> r.grant() != null)
                .toList();
        check(posts.get(1).grant().equals(posts.get(0).grant()), posts);
        int first = Integer.parseInt(posts.get(0).authorization().substring("Bearer ".length()));
        long pause = sent.get(first + 1) - sent.get(first);
        check(pause >= 449, pause);
    }

    static void corrections(FakeServer server) {
        for (String code : List.of("not_found", "conflict", "bad_request", "invalid_config",
                "unauthenticated",
                "denied")) {
            server.posts = r -> FakeServer.error(400, code, 0);
            try (Generator g = new Generator(options(server))) {
                long from = System.nanoTime();
                fails(code, g::next);
                check(System.nanoTime() - from < LONG.toNanos() / 2, "not immediately");
                server.posts = r -> server.grant(5, 0, 60_000, 50);
                awaitPosts(server, server.posts().size() + 2); // the reply to the first is applied
                g.next();
                server.posts = r -> FakeServer.error(400, code, 0);
                awaitPosts(server, server.posts().size() + 2);
                g.next(Duration.ofMillis(5));
            }
        }
    }

    /** A request without a reply takes its whole time, and not much more. */
    static void timeout(FakeServer server) throws InterruptedException {
        server.posts = r -> null;
        Duration timeout = Duration.ofMillis(300);
        long from = System.nanoTime();
        try {
            new Http(options(server)).send("POST", server.address(), "{}", timeout);
            throw new AssertionError("a reply");
        } catch (IOException e) {
            long took = System.nanoTime() - from;
            check(took >= timeout.toNanos() && took < LONG.toNanos() / 2, took + ": " + e);
        }
    }

    static void damaged(FakeServer server) {
        server.posts = r -> {
            FakeServer.Answer answer = server.grant(5, 0, 5000, 50);
            answer.body().remove("until");
            return answer;
        };
        try (Generator g = new Generator(options(server))) {
            failsWith("the reply has until null", g);
        }
    }

    static void large(FakeServer server) {
        server.posts = r -> {
            FakeServer.Answer answer = server.grant(5, 0, 5000, 50);
            answer.body().put("more", "x".repeat(1 << 17));
            return answer;
        };
        try (Generator g = new Generator(options(server))) {
            failsWith("the reply has more than 65536 bytes", g);
        }
    }

    static void token(FakeServer server) {
        AtomicInteger count = new AtomicInteger();
        server.posts = r -> server.grant(5, 0, 300, 50);
        try (Generator g = new Generator(options(server).labels(Map.of("host", "a\"b\u00e9"))
                .token(() -> "t" + count.incrementAndGet()))) {
            g.next();
            awaitPosts(server, 2);
        }
        check(server.posts().get(0).authorization().equals("Bearer t1"), server.requests);
        check(server.posts().get(1).authorization().equals("Bearer t2"), server.requests);
        check(server.posts().get(0).body().get("labels").equals(Map.of("host", "a\"b\u00e9")),
                server.requests);
    }

    /** A token is sent in clear text to this host alone, unless the options allow more. */
    static void clearText() {
        for (String host : List.of("127.0.0.1", "127.9.8.7", "localhost", "[::1]")) {
            new Generator(new Options("orders", "http://" + host + ":1").background(false)).close();
        }
        for (String host : List.of("ids.internal", "10.0.0.1", "localhost.internal", "[2001:db8::1]")) {
            Options options = new Options("orders", "https://a", "http://" + host).background(false);
            try {
                new Generator(options).close();
                throw new AssertionError(host);
            } catch (IllegalArgumentException e) {
                check(e.getMessage().contains("insecure(true)"), e);
            }
            new Generator(options.insecure(true)).close();
        }
    }

    /** What is no base address is refused with one that is. */
    static void addresses() {
        for (String address : List.of("127.0.0.1:7948", "ids.internal:7948", "ids internal", "",
                "ftp://ids.internal", "https://")) {
            try {
                new Options("orders", address);
                throw new AssertionError("\"" + address + "\" is accepted");
            } catch (IllegalArgumentException e) {
                check(e.getMessage().contains("such as https://ids.internal:7948"), e);
            }
        }
        new Options("orders", "https://ids.internal:7948/", "http://[::1]:7948");
    }

    /** The error names why no member answers. */
    static void otherServers(FakeServer server) {
        server.posts = r -> new FakeServer.Answer(404, Map.of());
        try (Generator g = new Generator(options(server))) {
            failsWith("HTTP 404 without a code: it is another server", g);
        }
        server.posts = r -> new FakeServer.Answer(400, Map.of()); // as of a server with TLS
        try (Generator g = new Generator(options(server))) {
            failsWith("give https:// if it speaks TLS", g);
        }
        Options unknown = new Options("orders", "https://ids.invalid:7948").callTimeout(LONG);
        try (Generator g = new Generator(unknown)) {
            failsWith("UnresolvedAddressException", g);
        }
    }
}
