package io.github.optassign.service;

/** Signals that the service refuses the date of the remembered answer. The next request must omit that answer. */
public final class MemoryRefused extends ServiceFailure {
    private static final long serialVersionUID = 1L;

    MemoryRefused(String message) {
        super(message);
    }
}
