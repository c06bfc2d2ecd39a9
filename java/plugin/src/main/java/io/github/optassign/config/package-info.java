/** The plug-in's own configuration, and its version. */
package io.github.optassign.config;
