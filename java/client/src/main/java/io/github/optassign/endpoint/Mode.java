package io.github.optassign.endpoint;

/** What is done with the service's answers. */
public enum Mode {
    /** The service's answers are applied. */
    ACTIVE,
    /** They are not, or not as they are: the service neither remembers them nor counts on them. */
    SHADOW
}
