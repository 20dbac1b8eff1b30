package io.github.snowgrid;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongUnaryOperator;

/**
 * Runs the cases and requests of conformance.json. The system property "conformance" is its path.
 */
public final class ConformanceTest {
    private static final List<LongUnaryOperator> JITTERS = List.of(below -> 0, below -> below - 1,
            below -> ThreadLocalRandom.current().nextLong(below));

    public static void main(String[] args) throws IOException {
        Set<String> failures = failures();
        failures.forEach(System.out::println);
        if (!failures.isEmpty()) {
            System.exit(1);
        }
    }

    /** Returns the names of the cases that fail, and what differs. */
    public static Set<String> failures() throws IOException {
        Map<String, Object> file =
                map(Json.read(Files.readString(Path.of(System.getProperty("conformance")))));
        Set<String> failures = new LinkedHashSet<>();
        int count = 0;
        for (Object c : list(file.get("cases"))) {
            count++;
            for (LongUnaryOperator jitter : JITTERS) {
                try {
                    run(new GrantState(jitter), list(map(c).get("steps")));
                } catch (AssertionError | RuntimeException e) {
                    failures.add(map(c).get("rule") + " " + map(c).get("name") + ": "
                            + e.getMessage());
                    break;
                }
            }
        }
        List<Object> requests = list(file.get("requests"));
        for (Object o : requests) {
            Object have = body(map(map(o).get("given")));
            if (!have.equals(map(o).get("body"))) {
                failures.add(map(o).get("about") + ": the body is " + have + ", expected "
                        + map(o).get("body"));
            }
        }
        List<Object> releases = list(file.get("releases"));
        for (Object o : releases) {
            Map<String, Object> given = map(map(o).get("given"));
            Object have = Json.read(Json.write(Options.release((String) given.get("grant"),
                    number(given, "last"), number(given, "ids"), number(given, "waits"))));
            if (!have.equals(map(o).get("body"))) {
                failures.add(map(o).get("about") + ": the body is " + have + ", expected "
                        + map(o).get("body"));
            }
        }
        List<Object> parts = list(file.get("parts"));
        for (Object o : parts) {
            Map<String, Object> p = map(o);
            Layout.Parts want = new Layout.Parts(number(p, "time"), number(p, "node"), number(p,
                    "counter"));
            if (!layout(p).decompose(id(p.get("id"))).equals(want)) {
                failures.add("parts " + p);
            }
        }
        List<Object> ranges = list(file.get("ranges"));
        for (Object o : ranges) {
            Map<String, Object> r = map(o);
            long time = number(r, "time");
            if (layout(r).minId(time) != id(r.get("min"))
                    || layout(r).maxId(time) != id(r.get("max"))) {
                failures.add("ranges " + r);
            }
        }
        if (count < 65 || requests.size() < 12 || releases.size() < 4 || parts.size() < 9
                || ranges.size() < 21) {
            failures.add("too few cases: " + count + ", " + requests.size() + ", "
                    + releases.size() + ", " + parts.size() + ", " + ranges.size());
        }
        System.out.printf("conformance: %d cases, %d requests, %d releases, %d parts, %d ranges, "
                + "%d failures%n", count, requests.size(), releases.size(), parts.size(),
                ranges.size(), failures.size());
        return failures;
    }

    /** Returns the body that a client sends for the values of a request. */
    private static Object body(Map<String, Object> given) {
        Map<String, String> labels = new LinkedHashMap<>();
        map(given.get("labels")).forEach((name, value) -> labels.put(name, (String) value));
        Options options = new Options((String) given.get("name"), "http://127.0.0.1:1");
        options.labels(labels);
        if (given.containsKey("create")) {
            options.create(map(given.get("create")));
        }
        return Json.read(Json.write(options.body((String) given.get("grant"), number(given, "ids"),
                number(given, "waits"))));
    }

    private static void run(GrantState g, List<Object> steps) {
        int i = 0;
        for (Object o : steps) {
            Map<String, Object> step = map(o);
            String where = "step " + i++;
            long at = number(step, "at");
            if (step.containsKey("request")) {
                same(where, step.get("request"), g.request(at));
            } else if (step.containsKey("reply")) {
                g.replied(at, Reply.of(map(step.get("reply"))));
            } else if (step.containsKey("refused")) {
                Map<String, Object> r = map(step.get("refused"));
                g.refused(at, (String) r.getOrDefault("code", ""),
                        (long) r.getOrDefault("retry_after_ms", 0L));
            } else if (step.containsKey("ids")) {
                list(step.get("ids")).forEach(id -> same(where, id(id), g.next(at)));
            } else if (step.containsKey("many")) {
                many(where, g, at, map(step.get("many")));
            } else if (step.containsKey("wait")) {
                same(where, ~number(step, "wait"), g.next(at));
            } else if (step.containsKey("error")) {
                same(where, step.get("error"), end(g, at));
            } else if (step.containsKey("due")) {
                List<Object> due = list(step.get("due"));
                if (!g.ready() || g.due() < (long) due.get(0) || g.due() > (long) due.get(1)) {
                    throw new AssertionError(where + ": want due " + due + ", have " + g.due());
                }
            } else if (step.containsKey("fork")) {
                g.forked();
            } else if (step.containsKey("release")) {
                Map<String, Object> r = map(step.get("release"));
                same(where, new GrantState.Release((String) r.get("grant"), number(r, "last")),
                        g.release());
            } else {
                throw new AssertionError(where + ": unknown field in " + step.keySet());
            }
        }
    }

    private static void many(String where, GrantState g, long at, Map<String, Object> many) {
        long first = id(many.get("first"));
        for (long i = 0; i < number(many, "count"); i++) {
            same(where, first + i, g.next(at));
        }
        same(where, id(many.get("last")), first + number(many, "count") - 1);
    }

    private static String end(GrantState g, long at) {
        try {
            return "ID " + g.next(at);
        } catch (GrantState.EndException e) {
            return e.end.name().toLowerCase(java.util.Locale.ROOT);
        }
    }

    private static void same(String where, Object want, Object have) {
        if (!want.equals(have)) {
            throw new AssertionError(where + ": want " + want + ", have " + have);
        }
    }

    private static Layout layout(Map<String, Object> m) {
        return new Layout(number(m, "epoch"), (int) number(m, "time_shift"),
                (int) number(m, "node_shift"),
                number(m, "counters"), number(m, "ends"));
    }

    private static long id(Object text) {
        return Long.parseLong((String) text);
    }

    private static long number(Map<String, Object> m, String name) {
        return (long) m.get(name);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> map(Object o) {
        return (Map<String, Object>) o;
    }

    @SuppressWarnings("unchecked")
    private static List<Object> list(Object o) {
        return (List<Object>) o;
    }
}
