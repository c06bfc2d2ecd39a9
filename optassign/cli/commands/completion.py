"""`optassign completion`: print the code that makes a shell complete commands and options."""

from argparse import ArgumentParser, Namespace

from optassign.cli.output import DONE

ABOUT = "Print the code for completion in bash, zsh or fish"
EXAMPLE = "completion bash > /etc/bash_completion.d/optassign\ncompletion fish | source"
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `completion`."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish (zsh: `source` the code in ~/.zshrc)")


def run(arguments: Namespace) -> int:
    """Print the shell's code. It asks `optassign` itself, so it never becomes outdated."""
    import argcomplete

    print(argcomplete.shellcode(["optassign"], shell=arguments.shell))  # type: ignore[attr-defined]
    return DONE
