/** The service's address, and the caller's name and token. */
package io.github.optassign.endpoint;
