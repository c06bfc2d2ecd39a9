package io.github.optassign;

/** The service gave no answer that can be applied; the message says why, on one line, for the log. */
final class ServiceFailure extends Exception {
    private static final long serialVersionUID = 1L;

    ServiceFailure(String message) {
        super(oneLine(message));
    }

    /** Text from elsewhere, fit for one line of a log: no control characters, not longer than 300. */
    static String oneLine(String text) {
        if (text == null) {
            return "";
        }
        String plain = text.replaceAll("\\p{Cntrl}+", " ").strip();
        return plain.length() <= 300 ? plain : plain.substring(0, 297) + "...";
    }
}
