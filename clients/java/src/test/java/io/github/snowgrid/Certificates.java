package io.github.snowgrid;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A certificate that signs itself, in PEM files of a directory. */
final class Certificates {
    private static final char[] PASSWORD = "password".toCharArray();

    final Path certificate;
    final Path key;
    private final KeyStore store = KeyStore.getInstance("PKCS12");

    /** Makes a certificate with keytool. The algorithm is EC, RSA or Ed25519. */
    Certificates(Path dir, String algorithm, String names) throws Exception {
        Path file = dir.resolve(algorithm + ".p12");
        Files.deleteIfExists(file);
        String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
        Process process = new ProcessBuilder(List.of(keytool, "-genkeypair", "-alias", "x",
                "-keyalg",
                algorithm, "-dname", "CN=test", "-ext", "SAN=" + names, "-storetype", "PKCS12",
                "-keystore", file.toString(), "-storepass",
                new String(PASSWORD))).inheritIO().start();
        if (process.waitFor() != 0) {
            throw new IOException("keytool fails");
        }
        try (InputStream in = Files.newInputStream(file)) {
            store.load(in, PASSWORD);
        }
        certificate = pem(dir, algorithm + ".crt", "CERTIFICATE",
                store.getCertificate("x").getEncoded());
        key = pem(dir, algorithm + ".key", "PRIVATE KEY", store.getKey("x", PASSWORD).getEncoded());
    }

    private static Path pem(Path dir, String name, String type, byte[] der) throws IOException {
        String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
        return Files.writeString(dir.resolve(name), "-----BEGIN " + type + "-----\n" + text
                + "\n-----END " + type + "-----\n");
    }

    /** Returns the context of a server that has this certificate, and trusts it alone. */
    SSLContext server() throws Exception {
        KeyManagerFactory keys =
                KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(store, PASSWORD);
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("x", store.getCertificate("x"));
        TrustManagerFactory trust =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
        return context;
    }
}
