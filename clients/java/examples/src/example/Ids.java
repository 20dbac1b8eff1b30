package example;

import io.github.snowgrid.Generator;
import io.github.snowgrid.Options;
import java.nio.file.Path;

/** The one generator of this process. All frameworks and threads share it. */
final class Ids {
    static final Generator ORDERS = new Generator(options());

    private Ids() {
    }

    private static Options options() {
        Options options = new Options("orders", env("SNOWGRID_ADDRESSES",
                "http://127.0.0.1:7948").split(",")).create();
        String ca = env("SNOWGRID_TLS_CA", "");
        if (!ca.isEmpty()) {
            options.caFile(Path.of(ca));
        }
        String tokenFile = env("SNOWGRID_TOKEN_FILE", "");
        if (!tokenFile.isEmpty()) {
            options.tokenFile(Path.of(tokenFile));
        }
        return options;
    }

    private static String env(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null ? otherwise : value;
    }
}
