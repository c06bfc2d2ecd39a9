"""`python -m optassign.cli`, where the script is not on the path."""

import sys

from optassign.cli import main

sys.exit(main())
