/**
 * The target assignment: {@link io.github.optassign.plan.PlanChooser} decides where each copy belongs in the end.
 *
 * <p>{@link io.github.optassign.flow.MinCostFlow} finds new plans; exchanges then spread lost tasks, and the standbys
 * of each client's tasks.
 */
package io.github.optassign.plan;
