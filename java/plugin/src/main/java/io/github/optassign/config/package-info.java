/** The plug-in's own configuration. */
package io.github.optassign.config;
