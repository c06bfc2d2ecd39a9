"""What `goal_chain` is made of: the draft that goals change move by move, costs, and the goals themselves."""
