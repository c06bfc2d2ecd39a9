"""The parts of `goal_chain`: the draft that goals change move by move, costs, and the goals themselves."""
