package io.github.optassign.service;

/** Signals that the service's answer is invalid. */
public final class WrongAnswer extends ServiceFailure {
    private static final long serialVersionUID = 1L;

    WrongAnswer(String message) {
        super(message);
    }
}
