package io.github.snowgrid;

import static io.github.snowgrid.GeneratorTest.fails;
import static io.github.snowgrid.GeneratorTest.failsWith;
import static io.github.snowgrid.GeneratorTest.options;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Tests of the TLS options against a server that requires a client certificate. */
final class TlsTest {
    private TlsTest() {
    }

    static void tls() throws Exception {
        Path dir = Files.createTempDirectory("snowgrid");
        Path other = null;
        for (String algorithm : List.of("EC", "RSA", "Ed25519")) {
            Certificates own = new Certificates(dir, algorithm, "dns:member.snowgrid");
            try (FakeServer server = new FakeServer(own.server())) {
                Options options = options(server).caFile(own.certificate);
                try (Generator g = new Generator(options)) { // without a client certificate
                    failsWith("; last error: ", g);
                }
                try (Generator g = new Generator(options.certificate(own.certificate, own.key))) {
                    g.next();
                }
                try (Generator g = new Generator(options(server))) { // without the authority
                    failsWith("SSLHandshakeException", g);
                }
                if (other != null) {
                    Options wrong = options(server).caFile(other)
                            .certificate(own.certificate, own.key);
                    try (Generator g = new Generator(wrong)) { // with another authority
                        failsWith("SSLHandshakeException", g);
                    }
                }
                other = own.certificate;
                fails("tls", () -> new Generator(options.certificate(own.key, own.certificate)));
            }
        }
        Certificates host = new Certificates(dir, "EC", "ip:127.0.0.1");
        try (FakeServer server = new FakeServer(host.server())) {
            Options options = options(server).caFile(host.certificate)
                    .certificate(host.certificate, host.key);
            try (Generator g = new Generator(options)) { // without the name of a member
                failsWith("expected member.snowgrid", g);
            }
            try (Generator g = new Generator(options.serverName(""))) {
                g.next();
            }
        }
        try (Stream<Path> files = Files.list(dir)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(dir);
    }
}
