/**
 * The target assignment: {@link io.github.optassign.plan.PlanChooser} decides where each copy belongs in the end, and
 * {@link io.github.optassign.plan.LoadPlanChooser} where tasks weigh differently.
 */
package io.github.optassign.plan;
