package io.github.optassign.endpoint;

/** The use of the service's answers. */
public enum Mode {
    /** The service's answers are applied. */
    ACTIVE,
    /** The service's answers are not applied unchanged, so the service does not remember them as applied. */
    SHADOW
}
