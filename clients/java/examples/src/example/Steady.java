package example;

import io.github.snowgrid.Generator;
import io.github.snowgrid.Options;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * Makes IDs at a steady rate, and writes each as eight bytes, the highest first. Arguments: --addrs
 * --name --ca --token-file --ids --seconds --out. The tests of several languages together run it.
 */
public final class Steady {
    public static void main(String[] args) throws Exception {
        Map<String, String> flags = new HashMap<>();
        for (int i = 0; i + 1 < args.length; i += 2) {
            flags.put(args[i], args[i + 1]);
        }
        int total = Integer.parseInt(flags.get("--ids"));
        int chunk = Math.max(1, total / Integer.parseInt(flags.get("--seconds")) / 20);
        Options options = new Options(flags.get("--name"), flags.get("--addrs").split(","))
                .create().caFile(Path.of(flags.get("--ca")))
                .tokenFile(Path.of(flags.get("--token-file"))).timeout(Duration.ofMinutes(5));
        try (Generator ids = new Generator(options);
                DataOutputStream out = new DataOutputStream(new BufferedOutputStream(
                        Files.newOutputStream(Path.of(flags.get("--out")))))) {
            for (int made = 0; made < total; ) {
                for (long id : ids.nextMany(Math.min(chunk, total - made))) {
                    out.writeLong(id);
                    made++;
                }
                Thread.sleep(50);
            }
        }
    }
}
