"""Snapshots with other options or configs."""

from __future__ import annotations

from typing import Any

from optassign.formats.state import ApplicationState


def with_options(state: ApplicationState, **options: Any) -> ApplicationState:
    return state.model_copy(update={"options": state.options.model_copy(update=options)})


def with_configs(state: ApplicationState, **configs: Any) -> ApplicationState:
    return state.model_copy(update={"configs": state.configs.model_copy(update=configs)})
