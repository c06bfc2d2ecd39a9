/**
 * The way to the service and back (docs/protocol.md): the snapshot as JSON, the call, the answer from JSON, and the
 * check that Kafka may be given it.
 */
package io.github.optassign.service;
