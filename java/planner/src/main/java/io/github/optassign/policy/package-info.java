/**
 * The tunables of behaviour, made by {@code make policy} from {@code models/optassign_models/policy/policy.toml}, which
 * has the reason and the evidence for each. The same numbers as in the service.
 */
package io.github.optassign.policy;
