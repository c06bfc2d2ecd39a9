package io.github.optassign.service;

/** Says that the service does not believe the date of the remembered answer, so that it has to be asked without. */
public final class MemoryRefused extends ServiceFailure {
    private static final long serialVersionUID = 1L;

    MemoryRefused(String message) {
        super(message);
    }
}
