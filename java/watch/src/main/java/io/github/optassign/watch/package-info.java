/**
 * The watcher. It triggers an assignment of a streams group when the assignment would have an effect.
 *
 * <p>An assignor in the broker cannot ask to be called again, so a warm-up that has caught up would wait until a member
 * joins or leaves. {@link io.github.optassign.watch.Watcher} looks at groups through an Admin client, and triggers
 * assignments.
 */
package io.github.optassign.watch;
