"""`python -m pipeline.cli`, the same as `weighbridge`."""

import sys

from pipeline.cli.app import main

sys.exit(main())
