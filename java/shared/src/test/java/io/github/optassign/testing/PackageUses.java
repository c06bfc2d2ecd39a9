package io.github.optassign.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;

/** The dependencies between packages of a module, as the JDK's {@code jdeps} finds them in compiled classes. */
public final class PackageUses {
    private static final Pattern USE = Pattern.compile("^ +(\\S+) +-> (\\S+)", Pattern.MULTILINE);

    private PackageUses() {}

    /** Returns the packages that each package uses, for all classes compiled together with {@code member}. */
    public static Map<String, Set<String>> find(Class<?> member) {
        StringWriter out = new StringWriter();
        try {
            Path classes = Path.of(
                    member.getProtectionDomain().getCodeSource().getLocation().toURI());
            PrintWriter writer = new PrintWriter(out);
            ToolProvider jdeps = ToolProvider.findFirst("jdeps").orElseThrow();
            assertEquals(0, jdeps.run(writer, writer, "-verbose:package", classes.toString()), out.toString());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
        Map<String, Set<String>> uses = new TreeMap<>();
        for (MatchResult use : USE.matcher(out.toString()).results().toList()) {
            uses.computeIfAbsent(use.group(1), name -> new TreeSet<>()).add(use.group(2));
        }
        return uses;
    }

    /**
     * Returns the packages that are in a cycle or depend on one, by repeatedly removing packages without dependencies.
     */
    public static Set<String> findCycles(Map<String, Set<String>> uses) {
        Set<String> left = new TreeSet<>(uses.keySet());
        while (left.removeIf(name -> uses.get(name).stream().noneMatch(left::contains))) {
            continue;
        }
        return left;
    }
}
