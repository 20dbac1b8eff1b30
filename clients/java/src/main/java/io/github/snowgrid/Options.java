package io.github.snowgrid;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** Options of a generator. Each method sets one and returns the options. */
public final class Options {
    private static final Duration LONGEST = Duration.ofDays(365);
    private static final Pattern LOOPBACK =
            Pattern.compile("localhost|127(\\.\\d+){3}|\\[::1\\]");

    final String name;
    final List<String> addresses;
    Map<String, ?> create;
    Map<String, String> labels = Map.of();
    Supplier<String> token;
    Path caFile;
    String serverName;
    Path certFile;
    Path keyFile;
    Duration callTimeout = Duration.ofSeconds(2);
    Duration timeout = Duration.ofSeconds(10);
    boolean background = true;
    boolean insecure;

    /** Options for a sequencer, with base addresses such as https://ids.internal:7948. */
    public Options(String name, String... addresses) {
        if (name.isEmpty() || addresses.length == 0) {
            throw new IllegalArgumentException(
                    "snowgrid: give a sequencer name and at least one address");
        }
        this.name = name;
        this.addresses = List.of(addresses).stream().map(Options::base).toList();
    }

    /** Returns a time that can be counted in nanoseconds, also of one without an end. */
    static Duration bounded(Duration time) {
        return time.compareTo(LONGEST) < 0 ? time : LONGEST;
    }

    private static String base(String address) {
        try {
            URI uri = new URI(address);
            if (uri.getHost() != null && List.of("http", "https").contains(uri.getScheme())) {
                return address.replaceAll("/+$", "");
            }
        } catch (URISyntaxException e) {
            // as of host:port
        }
        throw new IllegalArgumentException("snowgrid: the address " + address
                + " is no base address; give one such as https://ids.internal:7948");
    }

    /** Creates the sequencer with the default layout if it does not exist. */
    public Options create() {
        return create(Map.of());
    }

    /** Creates the sequencer if it does not exist. Keys: epoch, nodes, layout; see POST /v1/ids. */
    public Options create(Map<String, ?> definition) {
        create = Map.copyOf(definition);
        return this;
    }

    /** Up to 16 labels such as host and service, which snowgrid holders prints. */
    public Options labels(Map<String, String> labels) {
        this.labels = Map.copyOf(labels);
        return this;
    }

    /** The bearer token. */
    public Options token(String token) {
        return token(() -> token);
    }

    /** Returns the bearer token for each request, so that it can be rotated. */
    public Options token(Supplier<String> token) {
        this.token = token;
        return this;
    }

    /** A file with the bearer token, read for each request. */
    public Options tokenFile(Path file) {
        return token(() -> {
            try {
                return Files.readString(file).strip();
            } catch (IOException e) {
                throw new UncheckedIOException("cannot read the token file " + file, e);
            }
        });
    }

    /**
     * A PEM file with the certificates of the authorities to trust. Default: the Java trust store.
     */
    public Options caFile(Path file) {
        caFile = file;
        return this;
    }

    /**
     * The name in the certificate of the server. Default: member.snowgrid, which each member has,
     * if a CA file is given; else the host of the address. An empty name stands for that host too.
     */
    public Options serverName(String name) {
        serverName = name;
        return this;
    }

    /** PEM files with the client certificate and its key in PKCS#8. */
    public Options certificate(Path certFile, Path keyFile) {
        this.certFile = certFile;
        this.keyFile = keyFile;
        return this;
    }

    /** The longest time for one request. Default: 2 s. */
    public Options callTimeout(Duration timeout) {
        callTimeout = bounded(timeout);
        return this;
    }

    /** The longest wait of calls for an ID without a timeout of their own. Default: 10 s. */
    public Options timeout(Duration timeout) {
        this.timeout = bounded(timeout);
        return this;
    }

    /** Whether a daemon thread renews the grant. If not, calls for an ID do. Default: true. */
    public Options background(boolean background) {
        this.background = background;
        return this;
    }

    /** Allows http:// to other hosts: a token can be read on the way. Default: false. */
    public Options insecure(boolean insecure) {
        this.insecure = insecure;
        return this;
    }

    /** Throws an exception if a request would leave this host in clear text. */
    void checkClearText() {
        for (String address : addresses) {
            URI uri = URI.create(address);
            if (uri.getScheme().equals("http") && !insecure
                    && !LOOPBACK.matcher(uri.getHost()).matches()) {
                throw new IllegalArgumentException("snowgrid: the address " + address
                        + " is in clear text and not of this host; give https://, "
                        + "or insecure(true)");
            }
        }
    }

    /** Returns the body of a request with this grant, "" for none (G11). */
    Map<String, Object> body(String grant, long ids, long waits) {
        Map<String, Object> body = new LinkedHashMap<>();
        if (grant.isEmpty()) {
            body.put("name", name);
            if (create != null) {
                body.put("create", create);
            }
        } else {
            body.put("grant", grant);
        }
        body.put("used", Map.of("ids", ids, "waits", waits));
        if (!labels.isEmpty()) {
            body.put("labels", labels);
        }
        return body;
    }

    /** Returns the body of the release of a grant (G10): last is a timestamp, 0 for none. */
    static Map<String, Object> release(String grant, long last, long ids, long waits) {
        Map<String, Long> used = Map.of("ids", ids, "waits", waits);
        return Map.of("grant", grant, "last", last, "used", used);
    }
}
