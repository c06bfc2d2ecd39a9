package io.github.optassign.endpoint;

import java.net.URI;
import java.net.URISyntaxException;
import org.apache.kafka.common.config.ConfigException;

/** The URL of a service and of its pages. */
public final class ServiceUrl {
    public static final String KEY = "optassign.url";

    private ServiceUrl() {}

    /** Returns the address of a page of the service, or null if the URL is null. */
    public static URI page(String url, String path) {
        if (url == null) {
            return null;
        }
        return URI.create((url.endsWith("/") ? url.substring(0, url.length() - 1) : url) + path);
    }

    /**
     * Checks the URL of a service; null is allowed.
     *
     * @throws ConfigException if the URL is invalid
     */
    public static void check(String name, Object value) {
        String url = (String) value;
        if (url == null) {
            return;
        }
        URI uri;
        try {
            uri = new URI(url);
        } catch (URISyntaxException e) {
            throw new ConfigException(name, hidePassword(url), "allowed: http://host:port or https://host:port");
        }
        if (uri.getRawUserInfo() != null) {
            throw new ConfigException(name, "[hidden]", "allowed: no user or password; use " + TokenSource.TOKEN);
        }
        boolean http = "http".equalsIgnoreCase(uri.getScheme()) || "https".equalsIgnoreCase(uri.getScheme());
        if (!http || uri.getHost() == null || uri.getPort() > 65_535 || uri.getPort() == 0) {
            throw new ConfigException(name, hidePassword(url), "allowed: http://host:port or https://host:port");
        }
        if (uri.getRawQuery() != null || uri.getRawFragment() != null) {
            throw new ConfigException(name, hidePassword(url), "allowed: no query and no fragment");
        }
    }

    /** Hides the text before an at sign of an invalid URL, since it may be a password. */
    private static String hidePassword(String url) {
        int at = url.lastIndexOf('@');
        int slashes = url.indexOf("//");
        String scheme = slashes >= 0 && slashes < at ? url.substring(0, slashes + 2) : "";
        return at < 0 ? url : scheme + "[hidden]" + url.substring(at);
    }
}
