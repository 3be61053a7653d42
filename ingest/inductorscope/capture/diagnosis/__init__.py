"""Running a captured program again to diagnose it."""
