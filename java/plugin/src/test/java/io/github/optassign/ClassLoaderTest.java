package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;

import io.github.optassign.testing.Awaiting;
import io.github.optassign.testing.FakeService;
import io.github.optassign.testing.StreamsTestGroup;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.management.ObjectName;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupAssignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.streams.processor.assignment.TaskAssignor;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The class loader of a closed application can be collected, as after each deployment in a container. */
class ClassLoaderTest {
    private static final int LOADERS = 4;
    private FakeService service;

    @BeforeEach
    void open() throws IOException {
        service = new FakeService();
    }

    @AfterEach
    void close() {
        service.close();
    }

    /** A class loader that loads the plug-in and its libraries itself, and other classes by the tests' loader. */
    private static final class ApplicationLoader extends URLClassLoader {
        ApplicationLoader(URL[] urls) {
            super(urls, ClassLoaderTest.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("io.github.optassign.") && !name.startsWith("com.fasterxml.")) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                return loaded == null ? findClass(name) : loaded;
            }
        }
    }

    private static URL[] classPath() throws IOException {
        List<URL> urls = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            urls.add(Path.of(entry).toUri().toURL());
        }
        return urls.toArray(URL[]::new);
    }

    /**
     * Runs rebalances of an application that is closed afterwards.
     *
     * @return its class loader
     */
    private static WeakReference<ClassLoader> runApplication(String name, Map<String, ?> configs) throws Exception {
        ClassLoader loader = new ApplicationLoader(classPath());
        Class<?> plugin = loader.loadClass(OptassignTaskAssignor.class.getName());
        assertNotSame(OptassignTaskAssignor.class, plugin);
        for (int i = 0; i < 2; i++) {
            TaskAssignor assignor =
                    (TaskAssignor) plugin.getDeclaredConstructor().newInstance();
            Map<String, Object> all = new HashMap<>(configs);
            all.put("application.id", name);
            ((Configurable) assignor).configure(all);
            StreamsTestGroup group = StreamsTestGroup.of(3).tasks(0, 6, StreamsTestGroup.Kind.LOGGED, 1_000_000);
            group.runs(0, "0_0", "0_1", "0_2").runs(1, "0_3", "0_4", "0_5");
            assignor.assign(group.state());
            assignor.onAssignmentComputed(
                    new GroupAssignment(Map.of()), new GroupSubscription(Map.of()), AssignmentError.NONE);
        }
        return new WeakReference<>(loader);
    }

    @Test
    void withoutAService() throws Exception {
        assertCollected("closed", Map.of());
    }

    @Test
    void withAService() throws Exception {
        service.behaviour = FakeService::refuse;
        assertCollected("closed-with-service", service.configs());
    }

    private static void assertCollected(String name, Map<String, ?> configs) throws Exception {
        List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
        for (int i = 0; i < LOADERS; i++) {
            loaders.add(runApplication(name, configs));
        }
        Awaiting.until(
                () -> {
                    System.gc();
                    return loaders.stream().allMatch(loader -> loader.get() == null);
                },
                () -> loaders.stream().filter(loader -> loader.get() != null).count() + " of " + LOADERS + " are kept");
        ObjectName bean = new ObjectName("optassign:type=assignor-metrics,application-id=" + name);
        Object counted = ManagementFactory.getPlatformMBeanServer().getAttribute(bean, "rebalance-total");
        assertEquals(2L, counted, "the count of the last deployment");
    }
}
