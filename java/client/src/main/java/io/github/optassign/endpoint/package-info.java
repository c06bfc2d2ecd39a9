/** Where the service is, who asks it, and by which right. */
package io.github.optassign.endpoint;
