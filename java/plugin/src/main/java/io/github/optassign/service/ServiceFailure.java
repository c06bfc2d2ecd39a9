package io.github.optassign.service;

/**
 * Says that there is no answer of the service's that can be applied; the message says why, on one line, for the log.
 */
public final class ServiceFailure extends Exception {
    private static final long serialVersionUID = 1L;

    public ServiceFailure(String message) {
        super(toOneLine(message));
    }

    /** Makes a text from elsewhere fit for one line of a log: no control characters, at most 300 characters. */
    public static String toOneLine(String text) {
        if (text == null) {
            return "";
        }
        String plain = text.replaceAll("\\p{Cntrl}+", " ").strip();
        return plain.length() <= 300 ? plain : plain.substring(0, 297) + "...";
    }
}
