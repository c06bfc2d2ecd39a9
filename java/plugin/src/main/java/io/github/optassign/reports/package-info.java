/** Telling the service afterwards what was applied in place of its answer (docs/reference/http.md). */
package io.github.optassign.reports;
