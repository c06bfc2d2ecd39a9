package io.github.optassign.service;

import java.util.regex.Pattern;

/**
 * Says that there is no answer of the service's that can be applied; the message says why, on one line, for the log.
 */
public class ServiceFailure extends Exception {
    private static final long serialVersionUID = 1L;

    public ServiceFailure(String message) {
        super(toOneLine(message));
    }

    /** Characters that end a line, turn its direction or are none: those of Unicode, not of ASCII alone. */
    private static final Pattern UNFIT = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]+");

    /** Makes a text from elsewhere fit for one line of a log: no control characters, at most 300 characters. */
    public static String toOneLine(String text) {
        if (text == null) {
            return "";
        }
        String start = text.length() <= 2_000 ? text : text.substring(0, 2_000);
        String plain = UNFIT.matcher(start).replaceAll(" ").strip();
        return plain.length() <= 300 ? plain : plain.substring(0, 297) + "...";
    }
}
