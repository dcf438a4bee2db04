"""``python -m ptycassette``: the command line, where the script is not on PATH."""

import sys

from ptycassette.cli import main

sys.exit(main())
