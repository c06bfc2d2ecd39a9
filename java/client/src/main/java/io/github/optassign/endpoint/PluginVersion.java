package io.github.optassign.endpoint;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;

/** The version of this plug-in, as the build wrote it next to this class. */
public final class PluginVersion {
    public static final String VERSION = read();

    private PluginVersion() {}

    private static String read() {
        try (InputStream in = PluginVersion.class.getResourceAsStream("plugin.properties")) {
            Properties properties = new Properties();
            if (in != null) {
                properties.load(in);
            }
            return properties.getProperty("version", "unknown");
        } catch (IOException e) {
            return "unknown"; // it is only for the service's log
        }
    }
}
