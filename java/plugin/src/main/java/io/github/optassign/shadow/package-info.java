/** The assignors of a group in shadow mode, which runs as it would without the plug-in. */
package io.github.optassign.shadow;
