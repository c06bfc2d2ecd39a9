/** The service's address, the asker's name and its rights. */
package io.github.optassign.endpoint;
