/**
 * Requests to the service (docs/reference/http.md): the snapshot as JSON, the HTTP call, the answer from JSON, and its
 * checks. The package depends on neither Kafka Streams nor a broker.
 */
package io.github.optassign.service;
