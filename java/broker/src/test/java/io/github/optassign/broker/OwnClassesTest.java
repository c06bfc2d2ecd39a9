package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarOutputStream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A jar is overwritten while its classes are used. */
class OwnClassesTest {
    private static final List<String> NAMES =
            List.of("io/github/optassign/broker/group/Lags.class", "io/github/optassign/broker/OwnClasses.class");

    @TempDir
    Path folder;

    private Path writeJar() throws IOException {
        Path file = folder.resolve("own.jar");
        try (OutputStream out = Files.newOutputStream(file);
                JarOutputStream jar = new JarOutputStream(out)) {
            for (String name : NAMES) {
                jar.putNextEntry(new ZipEntry(name));
                try (InputStream in = OwnClasses.class.getClassLoader().getResourceAsStream(name)) {
                    in.transferTo(jar);
                }
            }
        }
        return file;
    }

    private static String toName(String entry) {
        return entry.replace(".class", "").replace('/', '.');
    }

    @Test
    void classesAreThereOnceTheirJarIsOverwritten() throws Exception {
        Path file = writeJar();
        try (URLClassLoader loader = new URLClassLoader(new URL[] {file.toUri().toURL()}, null)) {
            assertEquals(NAMES.size(), OwnClasses.load(Class.forName(toName(NAMES.get(1)), false, loader)));
            Files.write(file, new byte[10]);
            for (String name : NAMES) {
                assertEquals(loader, Class.forName(toName(name), true, loader).getClassLoader());
            }
        }
    }

    @Test
    void aJarThatIsOverwrittenBeforeLacksClasses() throws Exception {
        Path file = writeJar();
        try (URLClassLoader loader = new URLClassLoader(new URL[] {file.toUri().toURL()}, null)) {
            Files.write(file, new byte[10]);
            assertThrows(ClassNotFoundException.class, () -> Class.forName(toName(NAMES.get(0)), true, loader));
        }
    }

    @Test
    void aFolderOfClassesIsIgnored() throws Exception {
        assertEquals(0, OwnClasses.load(OwnClassesTest.class));
    }
}
