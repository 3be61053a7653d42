"""What is stored of a timeline beside its bars."""

import msgspec

STREAM, MARKS, THREAD = "stream", "marks", "thread"


class LaidTrack(msgspec.Struct):
    """A stream of a device, the spans marked on one or by the profiler, or a thread."""

    kind: str
    """'stream', 'marks' or 'thread'."""
    process: str
    thread: str
    process_name: str
    thread_name: str
    first_row: int
    rows: int
    events: int
    busy_us: float
    """Time in events of its first row."""

    @property
    def title(self) -> str:
        """Returns a title such as "GPU 0, stream 7", "thread 411 (python3)", "process 12, thread
        13"."""
        process = self.process_name or (f"process {self.process}" if self.process else "")
        thread = self.thread_name or self.thread
        if self.kind == THREAD:
            if self.thread_name:
                return thread
            numbered = thread.lstrip("-").isdigit()
            return f"{process}, thread {thread}" if numbered else thread or process
        if not self.process_name and self.process.isdigit():
            process = f"device {self.process}"
        if thread.isdigit():
            thread = f"stream {thread}"
        title = ", ".join(part for part in (process, thread) if part)
        return f"{title}: annotations" if self.kind == MARKS and self.process_name else title


class TimelineFacts(msgspec.Struct):
    """A trace that is laid out. Times count from the start of its first event."""

    span_us: float = 0.0
    events: int = 0
    left_out: tuple[int, int] = (0, 0)
    """Numbers of tracks and events that are left out."""
    categories: list[str] = msgspec.field(default_factory=list)
    resolutions_us: list[float] = msgspec.field(default_factory=lambda: [0.0])
    """Resolution of each stored level; 0 for single events."""
    tracks: list[LaidTrack] = msgspec.field(default_factory=list)
