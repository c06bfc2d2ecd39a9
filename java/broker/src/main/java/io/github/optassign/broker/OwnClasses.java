package io.github.optassign.broker;

import java.io.IOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Path;
import java.security.CodeSource;
import java.util.List;
import java.util.jar.JarFile;
import java.util.zip.ZipEntry;

/**
 * The classes of this jar, all loaded when the broker starts, so that the jar may be overwritten while the broker runs.
 */
final class OwnClasses {
    private static final String SUFFIX = ".class";

    private OwnClasses() {}

    /**
     * Loads all classes of the jar that contains the given class, without initialising them.
     *
     * @return the number of classes, or 0 if the class is in no jar
     */
    static int load(Class<?> contained) throws IOException, URISyntaxException, ClassNotFoundException {
        CodeSource source = contained.getProtectionDomain().getCodeSource();
        URL place = source == null ? null : source.getLocation();
        if (place == null || !place.getPath().endsWith(".jar")) {
            return 0;
        }
        List<String> names;
        try (JarFile jar = new JarFile(Path.of(place.toURI()).toFile())) {
            names = jar.stream()
                    .map(ZipEntry::getName)
                    .filter(name -> name.endsWith(SUFFIX) && name.indexOf('-') < 0)
                    .map(name ->
                            name.substring(0, name.length() - SUFFIX.length()).replace('/', '.'))
                    .toList();
        }
        for (String name : names) {
            Class.forName(name, false, contained.getClassLoader());
        }
        return names.size();
    }
}
