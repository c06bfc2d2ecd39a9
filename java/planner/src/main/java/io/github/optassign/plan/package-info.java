/**
 * The plan: the target assignment, with each task's active and standbys once all warm-ups are done. The answer is the
 * assignment of this rebalance, on the way to the plan. R1 to R11 are rules of docs/reference/rules.md.
 *
 * <p>A task's <i>owner</i> runs it before this rebalance. A move takes two: in the first pass the owner revokes the
 * task, which is then <i>in transit</i>; in the second pass the new owner gets it. A <i>lost</i> task has no owner, and
 * no client has its state. A <i>cold</i> task runs elsewhere until its planned active, which has no state, is restored.
 *
 * <p>Clients of a <i>kind</i> have the same tags and rack, and all drain or all do not. A task's <i>columns</i> may
 * differ in cost from others of their kind, which are its <i>pool</i>. R3 to R5 give copies to some of the <i>tied</i>
 * clients. In <i>even spreads</i> all loads are 1 if weights are spread evenly; a <i>level</i> is a greatest load to
 * keep to.
 */
package io.github.optassign.plan;
