/** Who runs the group in shadow mode, where it is to run as it would without the plug-in. */
package io.github.optassign.shadow;
