"""`python -m optassign.cli`, if the script is not on the path."""

import sys

from optassign.cli import main

sys.exit(main())
