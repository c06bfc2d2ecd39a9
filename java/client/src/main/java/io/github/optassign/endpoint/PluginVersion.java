package io.github.optassign.endpoint;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;

/** The version of this plug-in, from the file that the build writes next to this class. */
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
            return "unknown"; // only the service's log shows the version
        }
    }
}
