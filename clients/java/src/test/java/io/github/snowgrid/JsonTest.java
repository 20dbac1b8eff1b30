package io.github.snowgrid;

import static io.github.snowgrid.GeneratorTest.check;

import java.util.List;

/** Tests of the JSON reader. */
final class JsonTest {
    private JsonTest() {
    }

    static void json() {
        String text = "{\"a\":[1,-2,true,null,{}],\"b\\u0041\\n\":\"\\\"x\",\"c\":[],\"d\":1.5}";
        check(Json.write(Json.read(text)).equals(
                "{\"a\":[1,-2,true,null,{}],\"bA\\u000a\":\"\\u0022x\",\"c\":[],"
                + "\"d\":1.5}"), Json.write(Json.read(text)));
        for (String bad : List.of("", "{", "[1,]", "{\"a\"}", "\"", "\"\\x\"", "01x", "1 2",
                "[".repeat(99))) {
            try {
                throw new AssertionError(bad + " is " + Json.read(bad));
            } catch (IllegalArgumentException e) {
                check(e.getMessage().startsWith("JSON: "), e);
            }
        }
    }
}
