package io.github.optassign.testing;

/** A group of three clients and six logged tasks, and a service's answers to it. */
public final class SixTasks {
    private SixTasks() {}

    private static final long MANY = 1_000_000;

    /** Returns six logged tasks with a standby each on two clients, and a third client without tasks. */
    public static StreamsTestGroup group() {
        StreamsTestGroup group = StreamsTestGroup.of(3).tasks(0, 6, StreamsTestGroup.Kind.LOGGED, MANY);
        group.standbys = 1;
        for (int i = 0; i < 6; i++) {
            group.runs(i % 2, "0_" + i).holds(1 - i % 2, "0_" + i, 0);
        }
        return group;
    }

    /** Returns a client's tasks as JSON, given the tasks of each role, separated by commas. */
    public static String client(int number, String active, String standby, String warmup, Long followupMs) {
        return "{\"process_id\": \"00000000-0000-0000-0000-00000000000" + number + "\", \"active\": " + list(active)
                + ", \"standby\": " + list(standby) + ", \"warmup\": " + list(warmup)
                + ", \"followup_rebalance_ms\": " + followupMs + "}";
    }

    private static String list(String tasks) {
        return tasks.isEmpty() ? "[]" : "[\"" + String.join("\", \"", tasks.split(",")) + "\"]";
    }

    public static String answer(String... clients) {
        return "{\"format\": 1, \"assignor\": \"cp-sat\", \"clients\": [" + String.join(",", clients) + "]}";
    }

    public static final String EVEN = "0_0,0_2,0_4";
    public static final String ODD = "0_1,0_3,0_5";
    public static final Long NEVER = null;

    public static final String RIGHT =
            answer(client(1, EVEN, ODD, "", 90_000L), client(2, ODD, EVEN, "", NEVER), client(3, "", "", "", NEVER));
}
