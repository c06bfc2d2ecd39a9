package io.github.optassign.testing;

/** How many random cases a test tries: few before every commit, more where {@code -Dcases.times=5} says so. */
public final class Cases {
    private Cases() {}

    /** So many times the few. */
    public static int count(int few) {
        return few * Integer.getInteger("cases.times", 1);
    }
}
