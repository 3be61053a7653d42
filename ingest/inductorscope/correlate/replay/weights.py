"""The costs of replaying operations into statements, in one table."""

CERTAIN = 0.05
"""A statement that costs less is the operation's; no other is looked at."""
TOLD_APART = 0.01
"""The least by which a later statement must be better."""
EARLIER = 0.2
"""A new statement that costs more is not the operation's, if a finished loop had its value."""
STRAY_IN_STEPS = 0.25
"""Cost of each statement in between that an operation of several steps does not need."""
UNKNOWN_OPERAND = 0.3
NO_LEAF = 0.3
"""Cost of a constant or index that is not found."""
LATER_LEAF = 0.4
"""Cost of each statement in front of a constant or index."""
OTHER_USE = 0.4
"""Cost of each value that a statement uses beside the operands."""
NO_STORE = 0.5
STRAY = 0.6
"""Cost of each statement in between that an operation does not need."""
OTHER_TAG = 0.7
"""Cost of a statement that uses the operands, but whose operation is not known."""
NO_OPERAND = 0.9
"""Cost of an operand that a statement does not use."""
ACCEPT = 1.6
"""The highest cost of an accepted match."""

FITS = 0.5
"""A scheduler node that costs less is written next."""
HARDLY_FITS = 0.9
"""Above, more nodes are tried."""
WRITTEN_BEFORE = 2.0
"""Cost of a node of which all expressions were written before, for other nodes."""
WRITTEN_ELSEWHERE = 5.0
"""The same, if it misses some of them; above, no node fits."""
