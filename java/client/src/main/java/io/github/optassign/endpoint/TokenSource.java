package io.github.optassign.endpoint;

import io.github.optassign.policy.ClientPolicy;
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
    public static final String TOKEN = "optassign.token";
    public static final String TOKEN_FILE = "optassign.token.file";

    /** The characters of a bearer token (RFC 6750, section 2.1). Others would not survive in a header. */
    private static final Pattern TOKEN_TEXT = Pattern.compile("[A-Za-z0-9._~+/-]+=*");

    /** Files that are being read: one on a disk that hangs is not read by more and more threads. */
    static final ConcurrentMap<String, FutureTask<Password>> READING = new ConcurrentHashMap<>();

    private final Password given;
    private final String file;

    private TokenSource(Password given, String file) {
        this.given = given;
        this.file = file;
    }

    /**
     * Makes one of what is configured.
     *
     * @param given null: none
     * @param file null: none
     * @throws ConfigException where both are there, or what is given is no token
     */
    public static TokenSource of(Password given, String file) {
        if (given != null && file != null) {
            throw new ConfigException("Both " + TOKEN + " and " + TOKEN_FILE + " are set; allowed: one of them");
        }
        return new TokenSource(given == null ? null : checkToken(TOKEN, given.value()), file);
    }

    /** Reads the file, if there is one, however long that takes. A ConfigException says what is wrong with it. */
    public void check() {
        if (file != null) {
            readFile();
        }
    }

    /**
     * Returns the token, as it is now; null: there is none. {@link Password#toString} hides it.
     *
     * @param deadline as of System.nanoTime; nothing waits longer
     * @throws ConfigException if the file holds none
     * @throws TimeoutException if its disk does not answer in time
     */
    public Password read(long deadline) throws TimeoutException, InterruptedException {
        if (file == null) {
            return given;
        }
        boolean[] isOurs = {false};
        FutureTask<Password> reading = READING.computeIfAbsent(file, path -> {
            isOurs[0] = true;
            return new FutureTask<>(this::readFile);
        });
        try {
            if (isOurs[0]) {
                Runnable work = () -> {
                    reading.run();
                    READING.remove(file, reading); // also if no thread waits any longer: next time it may be another
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
        } catch (OutOfMemoryError e) { // no thread: the next rebalance tries again
            READING.remove(file, reading);
            throw e;
        }
    }

    /** Reads a regular file only: a pipe or a device could block or never end, and this happens in every rebalance. */
    private Password readFile() {
        try {
            Path path = Path.of(file);
            if (!Files.isRegularFile(path)) {
                throw fileError(Files.exists(path) ? "another kind" : "none");
            }
            try (InputStream in = Files.newInputStream(path)) {
                byte[] bytes = in.readNBytes(ClientPolicy.SMALL_TEXT + 1);
                if (bytes.length > ClientPolicy.SMALL_TEXT) {
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
                "allowed: a readable regular file of at most " + ClientPolicy.SMALL_TEXT + " bytes; found " + found);
    }

    private static Password checkToken(String name, String token) {
        if (!TOKEN_TEXT.matcher(token).matches()) {
            throw new ConfigException(
                    name, "[hidden]", "allowed: a token of letters, digits and -._~+/ , at its end =");
        }
        return new Password(token);
    }
}
