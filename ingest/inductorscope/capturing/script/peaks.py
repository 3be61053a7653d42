"""The process that measures the machine after a script: `python -m … DEVICE` prints JSON."""

import sys

import msgspec

from inductorscope.capturing.benchmark.peaks import measure_peaks
from inductorscope.capturing.inside.leaving import leave

if __name__ == "__main__":
    sys.stdout.write(msgspec.json.encode(measure_peaks(sys.argv[1], None)).decode())
    leave(0)
