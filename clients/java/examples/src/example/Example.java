package example;

import io.github.snowgrid.Generator;

/** Prints some IDs and their parts. */
public final class Example {
    public static void main(String[] args) {
        try (Generator ids = Ids.ORDERS) {
            for (long id : ids.nextMany(3)) {
                System.out.println(id + " " + ids.decompose(id));
            }
        }
    }
}
