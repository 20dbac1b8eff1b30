package io.github.snowgrid;

/**
 * The sequencer was destroyed. The generator makes no more IDs; a name created again is another
 * sequencer.
 */
public final class DestroyedException extends SnowgridException {
    private static final long serialVersionUID = 1;

    DestroyedException(String message) {
        super("destroyed", message);
    }
}
