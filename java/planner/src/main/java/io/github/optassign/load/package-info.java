/** Actives planned by what tasks weigh: dealt longest first, moved at least cost, traded until loads are even. */
package io.github.optassign.load;
