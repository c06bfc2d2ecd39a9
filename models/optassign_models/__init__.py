"""Pure optimisation: numpy arrays in, arrays and bounds out. Imports only numpy and ortools."""
