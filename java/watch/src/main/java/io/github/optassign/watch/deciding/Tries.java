package io.github.optassign.watch.deciding;

/**
 * The triggers since new evidence or a change of processes or tasks. They are counted by reason: a group that could be
 * better uses up its tries, and must still be triggered once its target breaks.
 *
 * @param broken for a wrong target, or one that members do not reach
 * @param noProgress for a group that could be better
 */
record Tries(int broken, int noProgress) {
    static final Tries NONE = new Tries(0, 0);

    Tries addBroken() {
        return new Tries(broken + 1, noProgress);
    }

    Tries addNoProgress() {
        return new Tries(broken, noProgress + 1);
    }
}
