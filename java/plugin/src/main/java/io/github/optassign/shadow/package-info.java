/** The assignors of the group in shadow mode, if it is to run as it would without the plug-in. */
package io.github.optassign.shadow;
