"""A rebalance that the service answered and a plug-in reported: one recording of the applied answer and the other one."""

import json
from pathlib import Path

from optassign.formats.parsing.reading import read_json, to_model
from optassign.recordings.recording import Beside, Recording, RecordingHead, encode_recording

__all__ = ["join_report"]


def join_report(path: Path, head: RecordingHead, assignment: bytes) -> bytes | None:
    """The content of the recording at `path`, once a second one of the same rebalance, with this head, is there.

    The reported answer takes the place of the service's answer, which becomes the second one; the snapshot stays the one that
    the service used. None where the recording is to stay as it is: it has the report already. InputError if it cannot be read.
    """
    name, data = read_json(path)
    recording, _ = to_model(data, Recording, name)
    if recording.reported or not head.reported:
        return None
    beside = Beside(
        assignor=recording.assignor,
        time_limit=recording.time_limit,
        in_time=recording.in_time,
        summary=recording.summary,
    )
    joined = head.model_copy(update={"recorded_at": recording.recorded_at, "memory": recording.memory, "beside": beside})
    return encode_recording(joined, assignment, _to_json(data["snapshot"]), _to_json(data["assignment"]))


def _to_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
