package io.github.snowgrid;

import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import javax.tools.ToolProvider;

/**
 * Breaks one rule after the other in a copy of a source file. The conformance test has to fail each
 * time. Arguments: the directory of the sources, and one for the copies.
 */
public final class Mutants {
    private record Mutant(String rule, String file, String from, String to) {
        Mutant(String rule, String from, String to) {
            this(rule, "GrantState.java", from, to);
        }
    }

    private static final List<Mutant> MUTANTS = List.of(
            new Mutant("G1 until is not checked", "if (t >= s.until) {", "if (false) {"),
            new Mutant("G1 ends is not checked", "if (t >= layout.ends()) {", "if (false) {"),
            new Mutant("G2 every reply counts", "if (times.size() > TIMES_MAX) {", "if (false) {"),
            new Mutant("G2 no reply is too old", "times.removeIf(t -> t.at < at - TIMES_FOR);", ""),
            new Mutant("G2 only the newest reply counts", ".max().getAsLong()",
            ".reduce((a, b) -> b).getAsLong()"),
            new Mutant("G3 below the last timestamp", "if (t <= last) {", "if (t == last) {"),
            new Mutant("G3 below from", "Math.max(now, s.from)", "now"),
            new Mutant("G3 above the grid's time", "if (t > now && t != last) {",
            "if (false) {"),
            new Mutant("G4 a counter is used twice", "counter = c + 1;",
            "counter = Math.max(c, 1);"),
            new Mutant("G4 counters have no end", "&& counter < layout.counters()", ""),
            new Mutant("G5 a reply shortens", "s.until = Math.max(s.until, r.until());",
            "s.until = r.until();"),
            new Mutant("G6 the former grant is dropped", "spans.add(new Span(",
            "spans.clear();\nspans.add(new Span("),
            new Mutant("G6 two nodes in a millisecond", "t = last + 1;", "t = last;"),
            new Mutant("G7 the gap is used", "&& r.from() <= s.until)", ")"),
            new Mutant("G8 no backoff", "pause = Math.min(2 * pause, LAST_PAUSE);", ""),
            new Mutant("G8 retry_after_ms is ignored", "Math.max(retryAfter, ", "Math.max(0, "),
            new Mutant("G9 a copy keeps the grant", "void forked() {\n",
            "void forked() {\nif (end == null) return;\n"),
            new Mutant("G10 a reply revives", "end = End.ENDED;", ""),
            new Mutant("G10 detached keeps the timestamps",
            "grant = \"\";\n            spans.clear();", "grant = \"\";"),
            new Mutant("G12 a destroyed sequencer goes on", "end = End.DESTROYED;", ";"),
            new Mutant("G11 low is sent", "Options.java", "body.put(\"used\",",
            "body.put(\"low\", 1);\nbody.put(\"used\","),
            new Mutant("G11 low is sent in a renewal", "Options.java",
            "body.put(\"grant\", grant);", "body.put(\"grant\", grant);\nbody.put(\"low\", 1);"),
            new Mutant("G10 the release has no timestamp", "Options.java",
            "\"last\", last, ", ""),
            new Mutant("G10 the release has no counts", "Options.java",
            "last, \"used\", used", "last"),
            new Mutant("POST a renewal repeats the name", "Options.java",
            "body.put(\"grant\", grant);",
            "body.put(\"grant\", grant);\nbody.put(\"name\", name);"),
            new Mutant("POST a renewal repeats create", "Options.java",
            "body.put(\"grant\", grant);",
            "body.put(\"grant\", grant);\nif (create != null) body.put(\"create\", create);"),
            new Mutant("POST a renewal has no labels", "Options.java", "if (!labels.isEmpty()) {",
            "if (!labels.isEmpty() && grant.isEmpty()) {"));

    public static void main(String[] args) throws Exception {
        List<Path> sources;
        try (Stream<Path> files = Files.walk(Path.of(args[0]))) {
            sources = files.filter(f -> f.toString().endsWith(".java")
                    && !f.endsWith("Mutants.java")).toList();
        }
        int survivors = 0;
        for (int i = 0; i < MUTANTS.size(); i++) {
            Set<String> failures = failures(sources, MUTANTS.get(i), Path.of(args[1], "mutant"
                    + i));
            System.out.printf("%s: %s%n", MUTANTS.get(i).rule,
                    failures.isEmpty() ? "NOT DETECTED" : failures.size() + " fail, such as "
                            + failures.iterator().next());
            survivors += failures.isEmpty() ? 1 : 0;
        }
        if (survivors > 0) {
            System.exit(1);
        }
    }

    @SuppressWarnings("unchecked")
    private static Set<String> failures(List<Path> sources, Mutant mutant, Path to)
            throws Exception {
        Files.createDirectories(to);
        List<String> arguments = new ArrayList<>(List.of("-nowarn", "-d", to.toString()));
        for (Path source : sources) {
            String text = Files.readString(source);
            if (source.endsWith(mutant.file)) {
                if (!text.contains(mutant.from)) {
                    throw new IOException(mutant.rule + ": the text to replace is absent");
                }
                source = Files.writeString(to.resolve(mutant.file), text.replace(mutant.from,
                        mutant.to));
            }
            arguments.add(source.toString());
        }
        if (ToolProvider.getSystemJavaCompiler().run(null, null, null,
                arguments.toArray(new String[0])) != 0) {
            throw new IOException(mutant.rule + ": javac fails");
        }
        URL[] path = {new File(to.toString() + File.separator).toURI().toURL()};
        try (URLClassLoader loader =
                new URLClassLoader(path, ClassLoader.getPlatformClassLoader())) {
            return (Set<String>) loader.loadClass("io.github.snowgrid.ConformanceTest")
                    .getMethod("failures")
                    .invoke(null);
        }
    }
}
