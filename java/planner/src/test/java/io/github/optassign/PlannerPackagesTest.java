package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.planner.RebalancePlanner;
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
import org.junit.jupiter.api.Test;

/** Which packages the planner's use, as the JDK's {@code jdeps} finds in the compiled classes. */
class PlannerPackagesTest {
    private static final Pattern USE = Pattern.compile("^ +(\\S+) +-> (\\S+)", Pattern.MULTILINE);
    private static final Map<String, Set<String>> USES = findUses();

    /** Package to the packages that it uses. */
    private static Map<String, Set<String>> findUses() {
        StringWriter out = new StringWriter();
        try {
            Path classes = Path.of(RebalancePlanner.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
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

    /** It runs inside applications and inside brokers: neither Kafka nor any library is the same in both. */
    @Test
    void theyKnowNothingButJava() {
        assertTrue(USES.size() >= 5, USES.toString());
        USES.forEach((name, used) -> {
            Set<String> foreign = new TreeSet<>(used);
            foreign.removeIf(each -> each.startsWith("java.") || USES.containsKey(each));
            assertEquals(Set.of(), foreign, name);
        });
    }

    /** Takes away packages that use none of those that are left; what is left in the end is in a circle or uses one. */
    @Test
    void noCircles() {
        Set<String> left = new TreeSet<>(USES.keySet());
        while (left.removeIf(name -> USES.get(name).stream().noneMatch(left::contains))) {
            continue;
        }
        assertEquals(Set.of(), left);
    }
}
