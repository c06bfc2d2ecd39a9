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
 * Loads all classes of a jar when the broker starts. A jar that is overwritten while the broker runs can then be read
 * no more, and nothing needs it any more.
 */
final class OwnClasses {
    private static final String SUFFIX = ".class";

    private OwnClasses() {}

    /**
     * Loads each class of the jar that has this one, without running any of its code.
     *
     * @return the number of classes; 0: it is in no jar
     */
    static int load(Class<?> of) throws IOException, URISyntaxException, ClassNotFoundException {
        CodeSource source = of.getProtectionDomain().getCodeSource();
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
            Class.forName(name, false, of.getClassLoader());
        }
        return names.size();
    }
}
