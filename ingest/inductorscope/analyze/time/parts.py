"""Names of the parts of a timeline."""

COMPUTING, TALKING, COPYING = "computing", "communication alone", "copies alone"
BETWEEN = "between kernels"
QUEUED = "launched, waiting in the queue"
LAUNCHING = "launch to start"
UNKNOWN = "launch unknown"
OUTSIDE = "outside of operators"
LOADING = "loading data"
FIRST, CAPTURING, COMPILING = "first calls", "capturing a graph", "compiling"
PROFILING = "the profiler's own work"
SYNCHRONISING = "synchronising"
GUARDING = "guards"
INSIDE = "inside compiled code"
OPERATING = "in operators"
HOST_PARTS = (
    PROFILING, LOADING, SYNCHRONISING, GUARDING, "compiled code's prologue",
    INSIDE, OPERATING, OUTSIDE,
)  # fmt: skip
ONCE_PARTS = (FIRST, CAPTURING, COMPILING)
"""What only the first steps do."""
REPLAYED_PARTS = (INSIDE, LAUNCHING, QUEUED, BETWEEN, UNKNOWN)
"""What replaying a CUDA graph saves, of compiled code."""
IDLE_PARTS = (*HOST_PARTS, *ONCE_PARTS, LAUNCHING, QUEUED, BETWEEN, UNKNOWN)
