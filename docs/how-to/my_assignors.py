"""A first model in CP-SAT: even counts, then the fewest offsets to restore."""

from ortools.sat.python import cp_model

from optassign import ApplicationState, KafkaStreamsAssignment, TaskAssignment, TaskAssignor
from optassign.assignor import Traits


class FirstModel(TaskAssignor):
    """All clients are of one size, as in the instances."""

    name = "first-model"
    TRAITS = Traits(keeps_rules=False)  # R3 demands warm-ups on the way

    def __init__(self, time_limit: float = 10.0) -> None:
        """Take the seconds of `--time-limit`."""
        self._time_limit = time_limit

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Return the target."""
        model, tasks, clients = cp_model.CpModel(), state.tasks, [client.process_id for client in state.clients]
        active = {(task.id, client): model.new_bool_var("") for task in tasks for client in clients}
        standby = {pair: model.new_bool_var("") for pair in active}
        standbys = min(state.configs.num_standby_replicas, len(clients) - 1)
        for task in tasks:
            number = standbys if task.logged else 0
            model.add_exactly_one(active[task.id, client] for client in clients)
            model.add_linear_constraint(sum(standby[task.id, client] for client in clients), number, number)
        for pair in active:
            model.add_at_most_one(active[pair], standby[pair])
        for group in (tasks, [task for task in tasks if task.logged], *state.subtopologies.values()):
            copies = len(group) * (1 + standbys) if all(task.logged for task in group) else None
            for client in clients:
                count = sum(active[task.id, client] for task in group)
                model.add_linear_constraint(count, len(group) // len(clients), -(-len(group) // len(clients)))
                if copies is not None:
                    both = count + sum(standby[task.id, client] for task in group)
                    model.add_linear_constraint(both, copies // len(clients), -(-copies // len(clients)))
        restored = []
        for client_state in state.clients:
            for task_id, whole_changelog in state.full_lags.items():
                pair, lag = (task_id, client_state.process_id), client_state.lags.get(task_id, whole_changelog)
                if lag > state.configs.acceptable_recovery_lag:  # of the target only; R3 to R5 may force other copies
                    restored.append(lag * (active[pair] + standby[pair]))
        model.minimize(sum(restored))  # the next goal is `copies_not_caught_up`
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = self._time_limit
        solver.parameters.num_workers = 1  # several workers find another optimum each time
        if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            raise RuntimeError("no target found")
        rows = []
        for client in clients:
            own = [[task.id for task in tasks if solver.boolean_value(role[task.id, client])] for role in (active, standby)]
            rows.append(KafkaStreamsAssignment(process_id=client, active=tuple(own[0]), standby=tuple(own[1])))
        return TaskAssignment(assignor=self.name, clients=tuple(rows))
