package io.github.snowgrid;

/**
 * No ID can be made. The message names the sequencer, the addresses, the last error and what to do.
 */
public class SnowgridException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final String code;

    SnowgridException(String code, String message) {
        super(message);
        this.code = code;
    }

    /**
     * Returns the error code of the HTTP reference, or timeout (no ID before the deadline),
     * interrupted, exhausted (the layout has no timestamps left) or ended (the generator is
     * closed).
     */
    public final String code() {
        return code;
    }
}
