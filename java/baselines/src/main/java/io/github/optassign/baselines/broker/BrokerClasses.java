package io.github.optassign.baselines.broker;

import java.net.URL;
import java.net.URLClassLoader;
import org.apache.kafka.coordinator.group.api.streams.assignor.TaskAssignor;

/**
 * Loads classes of 4.4's broker next to classes of 4.3 that have the same names. They lie in a folder of their own of
 * the class path; in addition they need only the interface of assignors, which 4.3 does not have, and slf4j.
 */
final class BrokerClasses extends URLClassLoader {
    /** The release whose classes lie there. */
    static final String VERSION = "4.4.0";

    private static final String PACKAGE = "org.apache.kafka.coordinator.group.streams.assignor.";

    private BrokerClasses(URL folder) {
        super(new URL[] {folder}, BrokerClasses.class.getClassLoader());
    }

    /** IllegalStateException if the class is not there: the module was built without it. */
    static TaskAssignor createSticky() {
        URL folder = BrokerClasses.class.getResource("/kafka-" + VERSION + "/");
        if (folder == null) {
            throw new IllegalStateException("found no folder kafka-" + VERSION + " on the class path");
        }
        try {
            // Never closed: it is asked for more classes as long as the assignor is called.
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
