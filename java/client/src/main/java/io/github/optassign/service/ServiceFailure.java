package io.github.optassign.service;

import io.github.optassign.policy.ClientPolicy;
import java.util.regex.Pattern;

/**
 * Says that there is no answer of the service's that can be applied; the message says why, on one line, for the log.
 */
public class ServiceFailure extends Exception {
    private static final long serialVersionUID = 1L;
    private static final String CUT = "...";

    public ServiceFailure(String message) {
        super(toOneLine(message));
    }

    /** Characters that end a line, turn its direction or are none: those of Unicode, not of ASCII alone. */
    private static final Pattern UNFIT = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]+");

    /** Makes a text from elsewhere fit for one line of a log: no control characters, and not too long. */
    public static String toOneLine(String text) {
        if (text == null) {
            return "";
        }
        // Some are left out: so more are read than are shown.
        String start = text.substring(0, Math.min(text.length(), 2 * ClientPolicy.SHOWN_CHARACTERS));
        String plain = UNFIT.matcher(start).replaceAll(" ").strip();
        int most = ClientPolicy.SHOWN_CHARACTERS;
        return plain.length() <= most ? plain : plain.substring(0, most - CUT.length()) + CUT;
    }
}
