package io.github.optassign.baselines.broker;

import java.net.URL;
import java.net.URLClassLoader;
import org.apache.kafka.coordinator.group.api.streams.assignor.TaskAssignor;

/**
 * A class loader for classes of 4.4's broker next to classes of 4.3 with the same names. They are in a separate folder
 * of the class path, and depend only on the interface of assignors, which 4.3 does not have, and slf4j.
 */
final class BrokerClasses extends URLClassLoader {
    /** The release of the classes. */
    static final String VERSION = "4.4.0";

    private static final String PACKAGE = "org.apache.kafka.coordinator.group.streams.assignor.";

    private BrokerClasses(URL folder) {
        super(new URL[] {folder}, BrokerClasses.class.getClassLoader());
    }

    /**
     * Creates 4.4's sticky assignor.
     *
     * @throws IllegalStateException if the class path lacks 4.4's classes
     */
    static TaskAssignor createSticky() {
        URL folder = BrokerClasses.class.getResource("/kafka-" + VERSION + "/");
        if (folder == null) {
            throw new IllegalStateException("found no folder kafka-" + VERSION + " on the class path");
        }
        try {
            // Never closed, since the assignor's calls may load more classes.
            return (TaskAssignor) new BrokerClasses(folder)
                    .loadClass(PACKAGE + "StickyTaskAssignor")
                    .getDeclaredConstructor()
                    .newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith(PACKAGE)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            return loaded == null ? findClass(name) : loaded;
        }
    }
}
