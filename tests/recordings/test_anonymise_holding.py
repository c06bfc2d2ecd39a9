"""Tests that anonymised drains and limits have the same effect without their names."""

from __future__ import annotations

from altering import with_options

from optassign.assignor import assign
from optassign.generating import generate
from optassign.recordings.anonymise import anonymise


def test_drains_and_limits_keep_their_effect_and_lose_their_names() -> None:
    state = generate("steady", 24, 4, 1, seed=1)
    tagged = [
        client.model_copy(update={"tags": {"size": "secret-size" if i < 2 else "small"}, "host": f"secret-host-{i}:1"})
        for i, client in enumerate(state.clients)
    ]
    limits = [
        {"kind": "pin", "name": "secret pin", "tasks": ["0_1"], "tags": {"size": "secret-size"}},
        {"kind": "forbid", "subtopologies": ["1"], "clients": ["secret-host-3:1"]},
        {"kind": "forbid", "tasks": ["9_9"], "clients": ["secret-gone"]},
        {"kind": "most_copies", "most": 1, "clients": ["secret-gone"]},
    ]
    state = with_options(state.model_copy(update={"clients": tagged}), drain=["secret-host-2:1"], limits=limits)
    bare = anonymise(state)
    assert "secret" not in bare.model_dump_json()
    for assignor in ("cp-sat", "greedy"):
        before, after = assign(state, assignor), assign(bare, assignor)
        assert [(len(c.active), len(c.standby), len(c.warmup)) for c in before.clients] == [
            (len(c.active), len(c.standby), len(c.warmup)) for c in after.clients
        ]
        assert [row.kept for row in before.report.limits] == [row.kept for row in after.report.limits]
        assert [row.active for row in before.report.drains] == [row.active for row in after.report.drains]
        assert len(after.report.drains) == 1
