"""Why a device is idle: the time that is judged, the gaps in it, and what the host did in them."""
