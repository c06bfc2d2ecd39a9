"""The commands, one file each: `ABOUT` and `add_arguments` say what it takes, `run` does it.

The parser imports all of them, so each imports nothing but argparse at its top, and what it needs when it runs.
"""
