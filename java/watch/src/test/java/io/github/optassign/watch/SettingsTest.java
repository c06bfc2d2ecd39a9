package io.github.optassign.watch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.github.optassign.watch.Settings.BadSettingsException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Settings from the command line and the properties file. */
class SettingsTest {
    @TempDir
    Path folder;

    private Settings read(String properties, String... more) throws IOException, BadSettingsException {
        Path file = folder.resolve("admin.properties");
        Files.writeString(file, properties);
        List<String> arguments = new ArrayList<>(List.of("--config", file.toString()));
        arguments.addAll(List.of(more));
        return Settings.read(arguments);
    }

    @Test
    void onlyKafkasKeysGoToKafka() throws Exception {
        Settings settings = read("bootstrap.servers=a:1\nsecurity.protocol=SASL_SSL\noptassign.watch.pause.ms=2000\n");
        assertEquals(
                Map.of("bootstrap.servers", "a:1", "security.protocol", "SASL_SSL", "client.id", "optassign-watch"),
                settings.admin());
        assertEquals(2000, settings.limits().pauseMs());
        assertEquals(10_000, settings.limits().acceptableLag());
        assertEquals(10_000, settings.intervalMs());
        assertEquals(1000, settings.quickIntervalMs());
        assertEquals(2000, settings.limits().debounceMs());
    }

    @Test
    void theCommandLineTakesPrecedence() throws Exception {
        String file = "bootstrap.servers=a:1\noptassign.watch.groups=x\noptassign.watch.interval.ms=5000\n";
        assertEquals(List.of("x"), read(file).groups());
        Settings settings = read(file, "--groups", "orders, payments", "--interval", "2.5", "--metrics", "127.0.0.1:0");
        assertEquals(List.of("orders", "payments"), settings.groups());
        assertEquals(2500, settings.intervalMs());
        assertEquals(0, settings.metrics().orElseThrow().getPort());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "optassign.watch.paus.ms=1 | found optassign.watch.paus.ms; allowed: optassign.acceptable.recovery.lag",
                "optassign.watch.pause.ms=soon | optassign.watch.pause.ms: found soon; allowed: a whole number from 1000",
                "optassign.watch.quick.interval.ms=0 | found 0; allowed: a whole number from 200",
                "optassign.watch.max.per.hour=0 | optassign.watch.max.per.hour: found 0; allowed: a whole number from 2",
                "optassign.watch.metrics=9000 | found 9000; allowed: host:port",
                "optassign.watch.groups=, | found nothing; allowed: ids of groups",
            })
    void invalidValuesAreReported(String line, String expected) {
        var error = assertThrows(BadSettingsException.class, () -> read("bootstrap.servers=a:1\n" + line + "\n"));
        assertEquals(true, error.getMessage().contains(expected), error.getMessage());
    }

    @Test
    void missingValuesAreReported() {
        assertThrows(BadSettingsException.class, () -> read("security.protocol=SSL\n"), "bootstrap.servers");
        assertThrows(BadSettingsException.class, () -> Settings.read(List.of("--once")), "--config");
        assertThrows(
                BadSettingsException.class,
                () -> Settings.read(List.of("--config", folder.resolve("no").toString())));
    }
}
