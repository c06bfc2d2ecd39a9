"""The simulator of an application over hours: a scenario under one assignor, and the measures that its users notice."""
