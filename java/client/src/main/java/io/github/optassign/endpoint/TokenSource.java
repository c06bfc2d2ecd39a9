package io.github.optassign.endpoint;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.types.Password;

/** The service's token, or the file that holds it. */
public final class TokenSource {
    /** The greatest size in bytes of a file with a token, and of a reply to a report. Both have a few lines. */
    public static final int SMALL_TEXT = 65_536;

    public static final String TOKEN = "optassign.token";
    public static final String TOKEN_FILE = "optassign.token.file";

    /** The characters of a bearer token (RFC 6750, section 2.1). Other characters are not allowed in the header. */
    private static final Pattern TOKEN_TEXT = Pattern.compile("[A-Za-z0-9._~+/-]+=*");

    /** The reads in progress, by file. Callers share a read, so that a disk that hangs blocks one thread only. */
    static final ConcurrentMap<String, FutureTask<Password>> READING = new ConcurrentHashMap<>();

    private final Password given;
    private final String file;

    private TokenSource(Password given, String file) {
        this.given = given;
        this.file = file;
    }

    /**
     * Creates the source of a configured token.
     *
     * @param given the token itself, or null
     * @param file the path of the token's file, or null
     * @throws ConfigException if both are set, or the token has invalid characters
     */
    public static TokenSource of(Password given, String file) {
        if (given != null && file != null) {
            throw new ConfigException("Both " + TOKEN + " and " + TOKEN_FILE + " are set; allowed: one of them");
        }
        return new TokenSource(given == null ? null : checkToken(TOKEN, given.value()), file);
    }

    /**
     * Reads the token's file, if one is set, without a time-out.
     *
     * @throws ConfigException if the file holds no token
     */
    public void check() {
        if (file != null) {
            readFile();
        }
    }

    /**
     * Returns the current token, or null if none is set. {@link Password#toString} hides it.
     *
     * @param deadline the end of the wait, as of System.nanoTime
     * @throws ConfigException if the file holds no token
     * @throws TimeoutException if the file cannot be read in time
     */
    public Password read(long deadline) throws TimeoutException, InterruptedException {
        if (file == null) {
            return given;
        }
        boolean[] isNewRead = {false};
        FutureTask<Password> reading = READING.computeIfAbsent(file, path -> {
            isNewRead[0] = true;
            return new FutureTask<>(this::readFile);
        });
        try {
            if (isNewRead[0]) {
                Runnable work = () -> {
                    reading.run();
                    READING.remove(
                            file, reading); // even without a waiting caller, so that the next call reads the file anew
                };
                Thread thread = new Thread(work, "optassign-token");
                thread.setDaemon(true);
                thread.start();
            }
            return reading.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof ConfigException bad) {
                throw bad;
            }
            throw fileError(e.getCause().toString());
        } catch (OutOfMemoryError e) { // no thread is available; the next rebalance tries again
            READING.remove(file, reading);
            throw e;
        }
    }

    /**
     * Reads the token's file. Accepts regular files only: a pipe or a device could block or never end, in every
     * rebalance.
     */
    private Password readFile() {
        try {
            Path path = Path.of(file);
            if (!Files.isRegularFile(path)) {
                throw fileError(Files.exists(path) ? "another kind" : "none");
            }
            try (InputStream in = Files.newInputStream(path)) {
                byte[] bytes = in.readNBytes(SMALL_TEXT + 1);
                if (bytes.length > SMALL_TEXT) {
                    throw fileError("a longer one");
                }
                return checkToken(TOKEN_FILE, new String(bytes, StandardCharsets.UTF_8).strip());
            }
        } catch (IOException | InvalidPathException e) {
            throw fileError(e.toString());
        }
    }

    private ConfigException fileError(String found) {
        return new ConfigException(
                TOKEN_FILE,
                file,
                "allowed: a readable regular file of at most " + SMALL_TEXT + " bytes; found " + found);
    }

    private static Password checkToken(String name, String token) {
        if (!TOKEN_TEXT.matcher(token).matches()) {
            throw new ConfigException(
                    name, "[hidden]", "allowed: a token of letters, digits and -._~+/ , at its end =");
        }
        return new Password(token);
    }
}
