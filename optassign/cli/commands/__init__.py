"""The commands, one file each: `ABOUT` and `EXAMPLE` for the help, `add_arguments`, and `run`.

The parser imports all of them, so each imports only argparse at its top, and the rest when it runs.
"""
