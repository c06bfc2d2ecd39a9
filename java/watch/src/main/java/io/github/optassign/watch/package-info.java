/**
 * Has the coordinator of a streams group ask its assignor again, when that would move something.
 *
 * <p>An assignor in the broker cannot ask to be called again, so a warm-up that has caught up would wait until a member
 * joins or leaves. {@link io.github.optassign.watch.Watcher} reads groups as any Admin client can, and acts.
 */
package io.github.optassign.watch;
