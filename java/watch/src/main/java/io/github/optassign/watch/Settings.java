package io.github.optassign.watch;

import io.github.optassign.watch.deciding.Limits;
import java.io.IOException;
import java.io.Reader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeSet;

/**
 * The settings from the command line and the properties file.
 *
 * @param admin the configs of Kafka's Admin client, unchanged from the file
 * @param groups the ids of the groups to watch; empty for all groups that optassign's assignor assigns
 * @param intervalMs the time between two looks at all groups, ms
 * @param quickIntervalMs the time between two looks at groups in motion, ms
 * @param metrics the address of the metrics page, or empty for no page
 * @param isDryRun whether configs of groups stay unchanged
 * @param isOnce whether the watcher ends after one look and its effects
 */
record Settings(
        Map<String, Object> admin,
        List<String> groups,
        Limits limits,
        long intervalMs,
        long quickIntervalMs,
        Optional<InetSocketAddress> metrics,
        boolean isDryRun,
        boolean isOnce) {
    /** The default time between two looks at a group. A look costs each broker a few requests. */
    private static final long INTERVAL_MS = 10_000;
    /**
     * The default time between two looks at a group that restores. Copies of small changelogs catch up within seconds.
     */
    private static final long QUICK_MS = 1_000;
    /** The shortest time between two looks: about as long as a look takes. */
    private static final long SHORTEST_MS = 200;
    /** The shortest of the other times: about as long as a rebalance takes. */
    private static final long LEAST_WAIT_MS = 1_000;
    /** The longest time that a setting may have: a day. A longer time is a mistake of units. */
    private static final long LONGEST_MS = 86_400_000;
    /** The greatest number of assignments in an hour that a setting may allow: one in a second. */
    private static final int GREATEST_PER_HOUR = 3_600;
    /** The greatest number of tries without progress that a setting may allow. Their pauses add up to days. */
    private static final int GREATEST_TRIES = 16;

    static final String USAGE = """
            usage: optassign watch --config FILE [--groups NAME,...] [--interval SECONDS] [--metrics HOST:PORT] \
            [--dry-run] [--once]""";

    private static final String OWN_PREFIX = "optassign.";
    private static final String LAG = "optassign.acceptable.recovery.lag";
    private static final String GROUPS = "optassign.watch.groups";
    private static final String INTERVAL = "optassign.watch.interval.ms";
    private static final String QUICK = "optassign.watch.quick.interval.ms";
    private static final String METRICS = "optassign.watch.metrics";
    private static final String DEBOUNCE = "optassign.watch.debounce.ms";
    private static final String PAUSE = "optassign.watch.pause.ms";
    private static final String NO_PROGRESS = "optassign.watch.no.progress.timeout.ms";
    private static final String BROKEN = "optassign.watch.broken.ms";
    private static final String STUCK = "optassign.watch.stuck.ms";
    private static final String RESTORE_CONFIG = "optassign.watch.restore.config.after.ms";
    private static final String PER_HOUR = "optassign.watch.max.per.hour";
    private static final String TRIES = "optassign.watch.max.tries";
    private static final List<String> KEYS = List.of(
            LAG,
            GROUPS,
            INTERVAL,
            QUICK,
            METRICS,
            DEBOUNCE,
            PAUSE,
            NO_PROGRESS,
            BROKEN,
            STUCK,
            RESTORE_CONFIG,
            PER_HOUR,
            TRIES);

    /** Signals an invalid command line or file. The message names the place, the value and the allowed values. */
    static final class BadSettingsException extends Exception {
        private static final long serialVersionUID = 1;

        BadSettingsException(String message) {
            super(message);
        }
    }

    /** Reads the command line and the file that it names. The command line takes precedence. */
    static Settings read(List<String> arguments) throws BadSettingsException {
        String file = null;
        boolean isDryRun = false;
        boolean isOnce = false;
        Map<String, String> given = new HashMap<>();
        for (Iterator<String> rest = arguments.iterator(); rest.hasNext(); ) {
            String option = rest.next();
            switch (option) {
                case "--dry-run" -> isDryRun = true;
                case "--once" -> isOnce = true;
                case "--config" -> file = next(option, rest);
                case "--groups" -> given.put(GROUPS, next(option, rest));
                case "--metrics" -> given.put(METRICS, next(option, rest));
                case "--interval" -> given.put(INTERVAL, toMs(next(option, rest)));
                default -> throw new BadSettingsException("found " + option + "; " + USAGE);
            }
        }
        if (file == null) {
            throw new BadSettingsException("--config is missing; " + USAGE);
        }
        Map<String, String> found = load(Path.of(file));
        found.putAll(given);
        return read(file, found, isDryRun, isOnce);
    }

    private static Settings read(String file, Map<String, String> found, boolean isDryRun, boolean isOnce)
            throws BadSettingsException {
        for (String key : new TreeSet<>(found.keySet())) {
            if (key.startsWith(OWN_PREFIX) && !KEYS.contains(key)) {
                throw new BadSettingsException(file + ": found " + key + "; allowed: " + String.join(", ", KEYS));
            }
        }
        Limits defaults = Limits.DEFAULT;
        Limits limits = new Limits(
                number(found, LAG, defaults.acceptableLag(), 0, Long.MAX_VALUE),
                number(found, DEBOUNCE, defaults.debounceMs(), 0, LONGEST_MS),
                readWait(found, PAUSE, defaults.pauseMs()),
                readWait(found, NO_PROGRESS, defaults.noProgressTimeoutMs()),
                readWait(found, BROKEN, defaults.brokenMs()),
                readWait(found, STUCK, defaults.stuckMs()),
                readWait(found, RESTORE_CONFIG, defaults.restoreConfigAfterMs()),
                (int) number(found, PER_HOUR, defaults.mostPerHour(), 2, GREATEST_PER_HOUR),
                (int) number(found, TRIES, defaults.mostTries(), 0, GREATEST_TRIES));
        List<String> groups = Arrays.stream(found.getOrDefault(GROUPS, "").split(","))
                .map(String::trim)
                .filter(group -> !group.isEmpty())
                .distinct()
                .toList();
        if (found.containsKey(GROUPS) && groups.isEmpty()) {
            throw new BadSettingsException(
                    GROUPS + " or --groups: found nothing; allowed: ids of groups, separated by commas");
        }
        Map<String, Object> admin = new HashMap<>(found);
        admin.keySet().removeIf(key -> key.startsWith(OWN_PREFIX));
        if (!admin.containsKey("bootstrap.servers") && !admin.containsKey("bootstrap.controllers")) {
            throw new BadSettingsException(file + ": bootstrap.servers is missing; allowed: host:port,...");
        }
        admin.putIfAbsent("client.id", "optassign-watch");
        return new Settings(
                admin,
                groups,
                isOnce ? limits.once() : limits,
                number(found, INTERVAL, INTERVAL_MS, SHORTEST_MS, LONGEST_MS),
                number(found, QUICK, QUICK_MS, SHORTEST_MS, LONGEST_MS),
                found.containsKey(METRICS) ? Optional.of(toAddress(found.get(METRICS))) : Optional.empty(),
                isDryRun,
                isOnce);
    }

    private static String next(String option, Iterator<String> rest) throws BadSettingsException {
        if (!rest.hasNext()) {
            throw new BadSettingsException(option + ": found nothing after it; " + USAGE);
        }
        return rest.next();
    }

    private static Map<String, String> load(Path file) throws BadSettingsException {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            properties.load(reader);
        } catch (IOException | IllegalArgumentException e) {
            throw new BadSettingsException(
                    "--config: found the unreadable file " + file + " (" + e + "); allowed: a file of properties");
        }
        Map<String, String> found = new HashMap<>();
        properties.stringPropertyNames().forEach(key -> found.put(key, properties.getProperty(key)));
        return found;
    }

    private static String toMs(String seconds) throws BadSettingsException {
        try {
            return String.valueOf(Math.round(Double.parseDouble(seconds) * 1000));
        } catch (NumberFormatException e) {
            throw new BadSettingsException("--interval: found " + seconds + "; allowed: seconds, 0.2 to 86400");
        }
    }

    private static long readWait(Map<String, String> found, String key, long defaultMs) throws BadSettingsException {
        return number(found, key, defaultMs, LEAST_WAIT_MS, LONGEST_MS);
    }

    private static long number(Map<String, String> found, String key, long defaultValue, long least, long most)
            throws BadSettingsException {
        String text = found.get(key);
        if (text == null) {
            return defaultValue;
        }
        try {
            long number = Long.parseLong(text.trim());
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // The exception below covers this case too.
        }
        throw new BadSettingsException(
                key + ": found " + text + "; allowed: a whole number from " + least + " to " + most);
    }

    private static InetSocketAddress toAddress(String text) throws BadSettingsException {
        int colon = text.lastIndexOf(':');
        try {
            int port = Integer.parseInt(text.substring(colon + 1));
            InetSocketAddress address = new InetSocketAddress(text.substring(0, colon), port);
            if (colon > 0 && !address.isUnresolved()) {
                return address;
            }
        } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
            // The exception below covers this case too.
        }
        throw new BadSettingsException(METRICS + " or --metrics: found " + text + "; allowed: host:port");
    }
}
