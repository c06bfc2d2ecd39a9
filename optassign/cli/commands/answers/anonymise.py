"""`optassign anonymise`: replace the names in a snapshot, for a bug report."""

from argparse import ArgumentParser, Namespace

from optassign.cli.arguments import add_output_file, add_snapshot
from optassign.cli.common import load_snapshot
from optassign.cli.output import DONE

ABOUT = "Replace the names in a snapshot by numbers, as JSON"
EXAMPLE = "anonymise snapshot.json --output anonymous.json"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `anonymise`."""
    add_snapshot(parser)
    add_output_file(parser)


def run(arguments: Namespace) -> int:
    """Write the snapshot with numbers in place of its names."""
    from optassign.cli.output import write_text
    from optassign.recordings.anonymise import anonymise

    write_text(anonymise(load_snapshot(arguments)).model_dump_json() + "\n", arguments.output)
    return DONE
