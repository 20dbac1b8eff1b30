package io.github.snowgrid;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/** A server of /v1/grants. By default it grants node 5 for a window from the present time on. */
final class FakeServer implements AutoCloseable {
    static final long EPOCH = 1_767_225_600_000L;

    /** A request, with its time in ms. */
    record Request(String method, Map<String, Object> body, String authorization, long at) {
        String grant() {
            return (String) body.get("grant");
        }
    }

    /** An answer; null gives none. */
    record Answer(int status, Map<String, Object> body) {
    }

    final List<Request> requests = new CopyOnWriteArrayList<>();
    volatile Function<Request, Answer> posts = r -> grant(5, 0, 2000, 100);
    volatile Function<Request, Answer> deletes = r -> new Answer(200, Map.of());
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    });
    private final HttpServer server;
    private int number;

    private final boolean secure;

    FakeServer() throws IOException {
        this(null);
    }

    /** A server with TLS that requires a client certificate, if the context is not null. */
    FakeServer(SSLContext tls) throws IOException {
        secure = tls != null;
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        if (secure) {
            HttpsServer https = HttpsServer.create(any, 0);
            https.setHttpsConfigurator(new HttpsConfigurator(tls) {
                @Override
                public void configure(HttpsParameters parameters) {
                    SSLParameters required = tls.getDefaultSSLParameters();
                    required.setNeedClientAuth(true);
                    parameters.setSSLParameters(required);
                }
            });
            server = https;
        } else {
            server = HttpServer.create(any, 0);
        }
        server.setExecutor(threads);
        server.createContext("/v1/grants", this::serve);
        server.start();
    }

    String address() {
        return (secure ? "https" : "http") + "://127.0.0.1:" + server.getAddress().getPort();
    }

    List<Request> posts() {
        return requests.stream().filter(r -> r.method.equals("POST")).toList();
    }

    List<Request> deletes() {
        return requests.stream().filter(r -> r.method.equals("DELETE")).toList();
    }

    /** Returns a grant of a node, relative to the present time. */
    synchronized Answer grant(long node, long from, long until, long renewIn) {
        long now = System.currentTimeMillis();
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("grant", "g1." + ++number);
        body.put("replaced", false);
        body.put("node", node);
        body.put("epoch", EPOCH);
        body.put("time_shift", 23);
        body.put("node_shift", 10);
        body.put("counters", 1024);
        body.put("from", now + from);
        body.put("until", now + until);
        body.put("now", now);
        body.put("renew_in_ms", renewIn);
        body.put("ends", EPOCH + (1L << 40));
        return new Answer(200, body);
    }

    static Answer error(int status, String code, long retryAfter) {
        return new Answer(status, Map.of("code", code, "message", "grid: text of " + code,
                "retry_after_ms", retryAfter));
    }

    @SuppressWarnings("unchecked")
    private void serve(HttpExchange exchange) throws IOException {
        String text = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        Request request = new Request(exchange.getRequestMethod(), (Map<String,
                Object>) Json.read(text),
                exchange.getRequestHeaders().getFirst("Authorization"),
                System.nanoTime() / 1_000_000);
        requests.add(request);
        Answer answer = (request.method.equals("POST") ? posts : deletes).apply(request);
        if (answer == null) {
            return; // without an answer
        }
        byte[] body = Json.write(answer.body).getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(answer.status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
