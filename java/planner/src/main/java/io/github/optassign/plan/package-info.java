/** The target assignment: where each copy belongs in the end, as {@code PlanChooser} decides. */
package io.github.optassign.plan;
