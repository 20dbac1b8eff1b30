package io.github.snowgrid;

import java.util.Map;

/** The reply to POST /v1/grants. */
record Reply(String grant, boolean replaced, long node, Layout layout, long from, long until,
        long now, long renewIn) {

    /** Reads a reply. An IllegalArgumentException names a field that is absent or out of range. */
    static Reply of(Map<String, Object> fields) {
        if (!(fields.get("grant") instanceof String grant) || grant.isEmpty()) {
            throw new IllegalArgumentException("the reply has no grant");
        }
        int timeShift = (int) number(fields, "time_shift", 62);
        int nodeShift = (int) number(fields, "node_shift", timeShift);
        Layout layout = new Layout(number(fields, "epoch", Json.EXACT), timeShift, nodeShift,
                number(fields, "counters", 1L << nodeShift), number(fields, "ends", Json.EXACT));
        return new Reply(grant, Boolean.TRUE.equals(fields.get("replaced")),
                number(fields, "node", (1L << timeShift - nodeShift) - 1), layout,
                number(fields, "from", Json.EXACT),
                number(fields, "until", Json.EXACT), number(fields, "now", Json.EXACT),
                number(fields, "renew_in_ms", Json.EXACT));
    }

    private static long number(Map<String, Object> fields, String name, long max) {
        if (fields.get(name) instanceof Long n && n >= 0 && n <= max) {
            return n;
        }
        throw new IllegalArgumentException(
                "the reply has " + name + " " + fields.get(name) + ", expected 0 to " + max);
    }
}
