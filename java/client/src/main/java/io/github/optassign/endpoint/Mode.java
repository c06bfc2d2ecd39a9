package io.github.optassign.endpoint;

/** The use of the service's answers. */
public enum Mode {
    /** The service's answers are applied. */
    ACTIVE,
    /** They are not, or not as they are: the service neither remembers them nor counts on them. */
    SHADOW
}
