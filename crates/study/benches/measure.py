"""Runs a command and prints what it took, as JSON: seconds, peak memory in MiB, and seconds of all cores.

A process of its own, and a small one: a child's peak counts from what its parent held when it was made.
"""

import json
import os
import subprocess
import sys
import time

begun = time.monotonic()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
seconds = time.monotonic() - begun
if status != 0:
    sys.exit(f"{sys.argv[1:]}: status {status}")
json.dump([seconds, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime], sys.stdout)
