"""Names of the parts of a timeline."""

COMPUTING, TALKING, COPYING = "computing", "communication alone", "copies alone"
QUEUED = "launched, waiting in the queue"
LAUNCHING = "launch to start"
UNKNOWN = "launch unknown"
OUTSIDE = "outside of operators"
HOST_PARTS = (
    "synchronising", "guards", "compiled code's prologue", "inside compiled code",
    "in operators", OUTSIDE,
)  # fmt: skip
IDLE_PARTS = (*HOST_PARTS, LAUNCHING, QUEUED, UNKNOWN)
