from __future__ import annotations

import sys

collect_ignore = ["platform.py"] + ([] if "tests.windows.platform" in sys.modules else ["inside.py"])
