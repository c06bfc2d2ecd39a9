/**
 * The way to the service and back (docs/reference/http.md): the snapshot as JSON, the call, the answer from JSON, and
 * the check that Kafka may be given it. Nothing here knows Kafka Streams or a broker.
 */
package io.github.optassign.service;
