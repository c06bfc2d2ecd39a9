/** The assignors of a group in shadow mode, in which the group runs as it would without the plug-in. */
package io.github.optassign.shadow;
