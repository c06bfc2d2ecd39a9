/** Telling the service afterwards what was applied in place of its answer (docs/protocol.md). */
package io.github.optassign.reports;
