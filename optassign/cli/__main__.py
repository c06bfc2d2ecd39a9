"""Entry point of `python -m optassign.cli`, for a PATH without the script."""

import sys

from optassign.cli import main

sys.exit(main())
