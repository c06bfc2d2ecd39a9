package io.github.optassign.service;

import java.util.regex.Pattern;

/**
 * Signals that the service has given no answer that can be applied. The message gives the reason in one line for the
 * log.
 */
public class ServiceFailure extends Exception {
    /** The longest text from outside in one line of a log. The page of an error would bury the line. */
    static final int SHOWN_CHARACTERS = 300;
    /**
     * The first pause between two attempts to send a report or a request for an opinion. Each later pause takes twice
     * as long.
     */
    public static final long FIRST_PAUSE_MS = 500;
    /** The longest pause between two such attempts. A repaired service is found within it. */
    public static final long LONGEST_PAUSE_MS = 30_000;

    private static final long serialVersionUID = 1L;
    private static final String CUT = "...";

    public ServiceFailure(String message) {
        super(toOneLine(message));
    }

    /**
     * Control characters, line breaks, bidirectional controls and surrogates without a pair, by their Unicode
     * categories.
     */
    private static final Pattern UNFIT = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]+");

    /** Returns a text from outside as one line for a log, without control characters and of limited length. */
    public static String toOneLine(String text) {
        if (text == null) {
            return "";
        }
        // Runs of control characters become one space, so more characters are read than shown.
        String start = text.substring(0, Math.min(text.length(), 2 * SHOWN_CHARACTERS));
        String plain = UNFIT.matcher(start).replaceAll(" ").strip();
        int most = SHOWN_CHARACTERS;
        return plain.length() <= most ? plain : plain.substring(0, most - CUT.length()) + CUT;
    }
}
