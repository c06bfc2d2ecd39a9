package io.github.optassign.service;

/**
 * Says that the attempt took its time without an answer, as with a service that hangs. A refused connection or request
 * costs no time and is a plain {@link ServiceFailure}.
 */
public final class LateAnswer extends ServiceFailure {
    private static final long serialVersionUID = 1L;

    LateAnswer(String message) {
        super(message);
    }
}
