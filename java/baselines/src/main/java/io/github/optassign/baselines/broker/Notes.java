package io.github.optassign.baselines.broker;

import io.github.optassign.baselines.BaselineApplication;
import java.util.ArrayList;
import java.util.List;

/** Notes on the parts of a snapshot that the broker's classes ignore. */
final class Notes {
    private Notes() {}

    /**
     * Returns the notes.
     *
     * @param lagsNote the note on the use of lags
     */
    static List<String> of(BaselineApplication application, String lagsNote) {
        List<String> notes = new ArrayList<>(List.of(lagsNote));
        if (!"none".equals(application.configs().rackAwareAssignmentStrategy())
                || !application.configs().rackAwareAssignmentTags().isEmpty()) {
            notes.add("racks and tags were not taken into account: the broker's assignor knows neither");
        }
        return notes;
    }
}
