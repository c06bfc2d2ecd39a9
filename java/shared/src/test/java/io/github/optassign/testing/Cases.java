package io.github.optassign.testing;

/** The number of random cases of a test: few by default, more with, for example, {@code -Dcases.times=5}. */
public final class Cases {
    private Cases() {}

    /** Returns the default number times the configured factor. */
    public static int count(int few) {
        return few * Integer.getInteger("cases.times", 1);
    }
}
