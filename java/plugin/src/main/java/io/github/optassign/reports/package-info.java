/** Reports to the service on answers that were applied in place of its own (docs/reference/http.md). */
package io.github.optassign.reports;
