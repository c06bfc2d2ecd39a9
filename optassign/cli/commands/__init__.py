"""The commands, one file each: `ABOUT` and `EXAMPLE` for the help, `add_arguments`, and `run`.

The parser imports all commands, so each imports only argparse at its top, and other modules when it runs.
"""
