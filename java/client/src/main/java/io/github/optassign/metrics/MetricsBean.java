package io.github.optassign.metrics;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandleProxies;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.Descriptor;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.modelmbean.DescriptorSupport;
import javax.management.modelmbean.ModelMBeanAttributeInfo;
import javax.management.modelmbean.ModelMBeanInfo;
import javax.management.modelmbean.ModelMBeanInfoSupport;
import javax.management.modelmbean.RequiredModelMBean;

/**
 * An MBean made of the JDK's classes only, which keeps the values last written. The platform's MBean server lives as
 * long as the JVM, so an MBean of a class of this jar would keep a closed application's class loader from being
 * collected. An application that is deployed again uses the same MBean.
 */
final class MetricsBean {
    /**
     * The longest wait until the JDK's pool has made the MBean of an application, which takes a millisecond. After it,
     * the application's thread makes the MBean, and the class loader stays.
     */
    private static final long MAKE_BEAN_MS = 1_000;

    private MetricsBean() {}

    /**
     * Registers an MBean, or writes the values into an existing MBean of this name.
     *
     * @param descriptions the descriptions of attributes, by name
     * @param values the values of attributes, by name; each a Long or a Double
     */
    static void register(ObjectName name, Map<String, String> descriptions, Map<String, Number> values)
            throws JMException {
        ModelMBeanInfo info = new ModelMBeanInfoSupport(
                RequiredModelMBean.class.getName(),
                "Rebalances of one application",
                descriptions.entrySet().stream()
                        .map(entry -> describe(entry.getKey(), entry.getValue(), values.get(entry.getKey())))
                        .toArray(ModelMBeanAttributeInfo[]::new),
                null,
                null,
                null);
        try {
            server().registerMBean(createBean(info), name);
        } catch (InstanceAlreadyExistsException e) {
            write(name, values);
        }
    }

    /**
     * Writes the values of an MBean. Attributes that the MBean does not have, such as those of another version, are
     * ignored.
     */
    static void write(ObjectName name, Map<String, Number> values) {
        AttributeList attributes = new AttributeList();
        values.forEach((attribute, value) -> attributes.add(new Attribute(attribute, value)));
        try {
            server().setAttributes(name, attributes);
        } catch (JMException e) {
            // The application has unregistered the MBean, so it wants no metrics.
        }
    }

    /** Removes an MBean, unless it has been removed already. */
    static void unregister(ObjectName name) {
        try {
            server().unregisterMBean(name);
        } catch (JMException e) {
            // The application has unregistered the MBean itself.
        }
    }

    private static MBeanServer server() {
        return ManagementFactory.getPlatformMBeanServer();
    }

    /** Describes an attribute. Its descriptor keeps the value, so the attribute has to be writable. */
    private static ModelMBeanAttributeInfo describe(String name, String description, Number value) {
        Descriptor descriptor =
                new DescriptorSupport("name=" + name, "descriptorType=attribute", "currencyTimeLimit=0");
        descriptor.setField("value", value);
        Class<?> type = value instanceof Double ? double.class : long.class;
        return new ModelMBeanAttributeInfo(name, type.getName(), description, true, true, false, descriptor);
    }

    /**
     * Creates the MBean on a thread of the JDK, without a class of this jar on its stack. Until JDK 23 a
     * RequiredModelMBean keeps the access control context of the thread that creates it. That context holds the class
     * loaders of all classes on the stack, and of the stacks that started the thread.
     */
    private static Object createBean(ModelMBeanInfo info) throws JMException {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        try {
            MethodHandle constructor = MethodHandles.publicLookup()
                    .findConstructor(RequiredModelMBean.class, MethodType.methodType(void.class, ModelMBeanInfo.class))
                    .bindTo(info);
            thread.setContextClassLoader(ClassLoader.getPlatformClassLoader()); // the loader of the proxy's class
            Callable<?> call = MethodHandleProxies.asInterfaceInstance(Callable.class, constructor);
            FutureTask<?> task = new FutureTask<>(call);
            ForkJoinPool.commonPool().execute(task);
            return task.get(MAKE_BEAN_MS, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return new RequiredModelMBean(
                    info); // the pool is busy; metrics matter more than a class loader that can be collected
        } catch (InterruptedException e) {
            thread.interrupt();
            return new RequiredModelMBean(info);
        } catch (ReflectiveOperationException | ExecutionException e) {
            throw new IllegalStateException(e);
        } finally {
            thread.setContextClassLoader(before);
        }
    }
}
