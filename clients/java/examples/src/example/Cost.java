package example;

import io.github.snowgrid.Generator;
import io.github.snowgrid.Options;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.concurrent.Callable;

/**
 * Measures an ID of a generator beside a plain Snowflake generator and POST /v1/ids. Argument: the
 * address of a member. Each line is a way to get an ID, and the nanoseconds for one. The lowest of
 * five rounds counts.
 */
public final class Cost {
    public static void main(String[] args) throws Exception {
        // Of 128 nodes each has 65,536 IDs in a millisecond: the ID space bounds nothing here.
        Options options = new Options("cost", args[0]).create(Map.of("nodes", 128));
        try (Generator ids = new Generator(options)) {
            ids.next();
            measure("next", 1, 2_000_000, ids::next);
            measure("next in batches of 1000", 1000, 2000, () -> ids.nextMany(1000));
        }
        measure("plain Snowflake", 1, 2_000_000, new Plain()::next);
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        measure("POST /v1/ids", 1, 200, () -> post(client, args[0], 1));
        measure("POST /v1/ids in batches of 1000", 1000, 20, () -> post(client, args[0], 1000));
    }

    private static String post(HttpClient client, String address, int n) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(address + "/v1/ids"))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{\"name\":\"cost\",\"n\":" + n + "}"))
                .build();
        HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() != 200) {
            throw new IllegalStateException("POST /v1/ids: " + response.body());
        }
        return response.body();
    }

    private static void measure(String name, int perCall, int calls, Callable<?> call)
            throws Exception {
        long best = Long.MAX_VALUE;
        for (int round = 0; round < 5; round++) {
            long began = System.nanoTime();
            for (int i = 0; i < calls; i++) {
                call.call();
            }
            best = Math.min(best, (System.nanoTime() - began) / ((long) calls * perCall));
        }
        System.out.println(name + " " + best);
    }

    /** A generator without a grid: the wall clock, a fixed node, and a lock. */
    private static final class Plain {
        private long last;
        private long counter;

        synchronized long next() {
            long now = System.currentTimeMillis();
            counter = now <= last ? counter + 1 : 0;
            while (counter == 4096 || now < last) {
                now = System.currentTimeMillis();
                counter = 0;
            }
            last = now;
            return (now - 1_767_225_600_000L) << 22 | 7 << 12 | counter;
        }
    }
}
