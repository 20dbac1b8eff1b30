package io.github.snowgrid;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads and writes JSON. Objects are maps, arrays lists, and whole numbers Long. */
final class Json {
    /** The largest number of a reply. */
    static final long EXACT = (1L << 53) - 1;
    private static final int DEPTH_MAX = 50;

    private final String text;
    private int at;
    private int depth;

    private Json(String text) {
        this.text = text;
    }

    /** Reads a value. An IllegalArgumentException says what is wrong. */
    static Object read(String text) {
        Json json = new Json(text);
        Object value = json.value();
        if (json.peek() != 0) {
            throw json.wrong("text after the value");
        }
        return value;
    }

    /** Reads an object, or returns an empty one if the text is something else. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> readObject(String text) {
        try {
            return read(text) instanceof Map<?, ?> map ? (Map<String, Object>) map : Map.of();
        } catch (IllegalArgumentException e) {
            return Map.of();
        }
    }

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value);
        return out.toString();
    }

    private static void write(StringBuilder out, Object value) {
        if (value instanceof Map<?, ?> map) {
            String separator = "{";
            for (Map.Entry<?, ?> e : map.entrySet()) {
                write(out.append(separator), e.getKey());
                write(out.append(':'), e.getValue());
                separator = ",";
            }
            out.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof List<?> list) {
            String separator = "[";
            for (Object e : list) {
                write(out.append(separator), e);
                separator = ",";
            }
            out.append(list.isEmpty() ? "[]" : "]");
        } else if (value instanceof Number || value instanceof Boolean || value == null) {
            out.append(value);
        } else {
            out.append('"');
            for (char c : value.toString().toCharArray()) {
                if (c < ' ' || c == '"' || c == '\\') {
                    out.append(String.format("\\u%04x", (int) c));
                } else {
                    out.append(c);
                }
            }
            out.append('"');
        }
    }

    private IllegalArgumentException wrong(String what) {
        return new IllegalArgumentException("JSON: " + what + " at character " + at);
    }

    /** Skips spaces and returns the next character, 0 at the end. */
    private char peek() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : 0;
    }

    private boolean skip(char c) {
        boolean is = peek() == c;
        at += is ? 1 : 0;
        return is;
    }

    private void expect(char c) {
        if (!skip(c)) {
            throw wrong("no " + c);
        }
    }

    private Object value() {
        if (++depth > DEPTH_MAX) {
            throw wrong("too many levels");
        }
        try {
            return switch (peek()) {
                case '{' -> object();
                case '[' -> array();
                case '"' -> string();
                default -> literal();
            };
        } finally {
            depth--;
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> map = new LinkedHashMap<>();
        expect('{');
        if (skip('}')) {
            return map;
        }
        do {
            peek();
            String key = string();
            expect(':');
            map.put(key, value());
        } while (skip(','));
        expect('}');
        return map;
    }

    private List<Object> array() {
        List<Object> list = new ArrayList<>();
        expect('[');
        if (skip(']')) {
            return list;
        }
        do {
            list.add(value());
        } while (skip(','));
        expect(']');
        return list;
    }

    private String string() {
        expect('"');
        StringBuilder out = new StringBuilder();
        while (at < text.length()) {
            char c = text.charAt(at++);
            if (c == '"') {
                return out.toString();
            }
            out.append(c == '\\' ? escaped() : c);
        }
        throw wrong("no end of a string");
    }

    private char escaped() {
        char c = at < text.length() ? text.charAt(at++) : 0;
        if (c == 'u' && at + 4 <= text.length()) {
            at += 4;
            return (char) Integer.parseInt(text.substring(at - 4, at), 16);
        }
        int i = "\"\\/bfnrt".indexOf(c);
        if (i < 0 || c == 0) {
            throw wrong("an unknown escape");
        }
        return "\"\\/\b\f\n\r\t".charAt(i);
    }

    private Object literal() {
        int from = at;
        while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(from, at);
        switch (word) {
            case "true", "false":
                return word.equals("true");
            case "null":
                return null;
            default:
                if (word.matches("-?\\d{1,18}")) {
                    return Long.valueOf(word);
                }
                if (word.matches("-?\\d+(\\.\\d+)?([eE][-+]?\\d+)?")) {
                    return Double.valueOf(word);
                }
                at = from;
                throw wrong("no value");
        }
    }
}
