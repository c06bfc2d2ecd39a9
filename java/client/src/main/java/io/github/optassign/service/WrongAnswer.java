package io.github.optassign.service;

/** Says that the service has answered, and that its answer is none that may be applied. */
public final class WrongAnswer extends ServiceFailure {
    private static final long serialVersionUID = 1L;

    WrongAnswer(String message) {
        super(message);
    }
}
