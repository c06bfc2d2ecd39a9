package io.github.optassign.service;

/**
 * Signals that the time-out, or much of it, passed without an answer, for example because the service hangs. A
 * connection or request that is refused at once is a plain {@link ServiceFailure}.
 */
public final class LateAnswer extends ServiceFailure {
    private static final long serialVersionUID = 1L;

    LateAnswer(String message) {
        super(message);
    }
}
