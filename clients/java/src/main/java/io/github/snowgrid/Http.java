package io.github.snowgrid;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Duration;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import javax.net.ssl.X509TrustManager;

/** Sends requests to /v1/grants. */
final class Http {
    /** The name in the certificate of each member. */
    private static final String MEMBER = "member.snowgrid";
    private static final int REPLY_MAX = 1 << 16; // bytes
    private static final Pattern PKCS8 =
            Pattern.compile("-----BEGIN PRIVATE KEY-----([^-]+)-----END PRIVATE KEY-----");

    /** The status and body of an answer. */
    record Answer(int status, String body) {
    }

    private final HttpClient client;
    private final Supplier<String> token;

    Http(Options options) {
        token = options.token;
        HttpClient.Builder builder = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(options.callTimeout);
        if (options.caFile != null || options.certFile != null
                || options.serverName != null) {
            try {
                builder.sslContext(context(options));
            } catch (IOException | GeneralSecurityException e) {
                throw new SnowgridException("tls", "snowgrid: cannot read the PEM files "
                        + options.caFile + ", "
                        + options.certFile + ", " + options.keyFile + ": " + e.getMessage()
                        + ". Give certificates in PEM and the key in PKCS#8 "
                        + "(openssl pkcs8 -topk8 -nodes).");
            }
        }
        client = builder.build();
    }

    /** Sends a request, and waits for its answer at most for the timeout. */
    Answer send(String method, String base, String body, Duration timeout) throws IOException,
            InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + "/v1/grants"))
                .header("Content-Type", "application/json").timeout(timeout)
                .method(method, HttpRequest.BodyPublishers.ofString(body));
        String bearer = token == null ? null : token.get();
        if (bearer != null) {
            request.header("Authorization", "Bearer " + bearer);
        }
        CompletableFuture<HttpResponse<String>> future =
                client.sendAsync(request.build(), info -> new Limited());
        try {
            HttpResponse<String> response = future.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            return new Answer(response.statusCode(), response.body());
        } catch (TimeoutException e) {
            throw new IOException("no reply within " + timeout.toMillis() + " ms", e);
        } catch (ExecutionException e) {
            throw new IOException(text(e.getCause()), e.getCause());
        } finally {
            future.cancel(true);
        }
    }

    /** Returns the class and the message of an error, or, without a message, of its causes. */
    private static String text(Throwable error) {
        String name = error.getClass().getSimpleName();
        if (error.getMessage() != null) {
            return name + ": " + error.getMessage();
        }
        Throwable cause = error.getCause();
        if (cause == null) {
            return name;
        }
        return cause.getClass() == error.getClass() ? text(cause) : name + ": " + text(cause);
    }

    /** Collects a body of at most REPLY_MAX bytes. */
    private static final class Limited implements HttpResponse.BodySubscriber<String> {
        private final HttpResponse.BodySubscriber<String> text =
                HttpResponse.BodySubscribers.ofString(StandardCharsets.UTF_8);
        private Flow.Subscription subscription;
        private long size;

        @Override
        public CompletionStage<String> getBody() {
            return text.getBody();
        }

        @Override
        public void onSubscribe(Flow.Subscription s) {
            subscription = s;
            text.onSubscribe(s);
        }

        @Override
        public void onNext(List<ByteBuffer> parts) {
            size += parts.stream().mapToLong(ByteBuffer::remaining).sum();
            if (size <= REPLY_MAX) {
                text.onNext(parts);
                return;
            }
            subscription.cancel();
            text.onError(new IOException("the reply has more than " + REPLY_MAX + " bytes"));
        }

        @Override
        public void onError(Throwable cause) {
            text.onError(cause);
        }

        @Override
        public void onComplete() {
            text.onComplete();
        }
    }

    /** Trusts a server whose certificate has a name, whatever host was dialed. */
    private static final class NamedServer extends X509ExtendedTrustManager {
        private final X509TrustManager authorities;
        private final String name;

        NamedServer(TrustManager[] authorities, String name) {
            this.authorities = (X509TrustManager) authorities[0];
            this.name = name;
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type)
                throws CertificateException {
            authorities.checkServerTrusted(chain, type);
            Collection<List<?>> names = chain[0].getSubjectAlternativeNames();
            if (names == null || !names.contains(List.of(2, name))) { // 2 is a DNS name
                throw new CertificateException("the certificate of the server has the names "
                        + names + ", expected " + name + "; see the option serverName");
            }
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
                throws CertificateException {
            checkServerTrusted(chain, type);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
                throws CertificateException {
            checkServerTrusted(chain, type);
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type)
                throws CertificateException {
            throw new CertificateException("this is no server");
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
                throws CertificateException {
            checkClientTrusted(chain, type);
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
                throws CertificateException {
            checkClientTrusted(chain, type);
        }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return authorities.getAcceptedIssuers();
        }
    }

    private static SSLContext context(Options options) throws IOException,
            GeneralSecurityException {
        TrustManagerFactory trust =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        KeyStore authorities = null; // Java's
        String name = options.serverName;
        if (options.caFile != null) {
            name = name == null ? MEMBER : name;
            authorities = store();
            for (Certificate c : certificates(options.caFile)) {
                authorities.setCertificateEntry("ca" + authorities.size(), c);
            }
        }
        trust.init(authorities);
        TrustManager[] managers = trust.getTrustManagers();
        if (name != null && !name.isEmpty()) {
            managers = new TrustManager[] {new NamedServer(managers, name)};
        }
        KeyManagerFactory keys = null;
        if (options.certFile != null) {
            KeyStore own = store();
            own.setKeyEntry("client", key(options.keyFile), new char[0],
                    certificates(options.certFile).toArray(new Certificate[0]));
            keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(own, new char[0]);
        }
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys == null ? null : keys.getKeyManagers(), managers, null);
        return context;
    }

    private static KeyStore store() throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    private static Collection<? extends Certificate> certificates(Path file)
            throws IOException, GeneralSecurityException {
        return CertificateFactory.getInstance("X.509")
                .generateCertificates(new ByteArrayInputStream(Files.readAllBytes(file)));
    }

    private static PrivateKey key(Path file) throws IOException, GeneralSecurityException {
        Matcher pem = PKCS8.matcher(Files.readString(file));
        if (pem.find()) {
            byte[] der = Base64.getMimeDecoder().decode(pem.group(1));
            for (String algorithm : new String[] {"EC", "RSA", "EdDSA"}) {
                try {
                    return KeyFactory.getInstance(algorithm)
                            .generatePrivate(new PKCS8EncodedKeySpec(der));
                } catch (InvalidKeySpecException e) {
                    continue; // the key is of another algorithm
                }
            }
        }
        throw new GeneralSecurityException(file + " has no private key in PKCS#8");
    }
}
