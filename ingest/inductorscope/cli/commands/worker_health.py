"""`inductorscope worker-health`: for container checks."""

from inductorscope.cli.app import Data, app, fail
from inductorscope.errors import FAILED


@app.command()
def worker_health(data: Data = None) -> None:
    """Exit with 0 if a worker of this machine sent a heartbeat recently, for container checks."""
    from inductorscope.cli.reading import reading
    from inductorscope.jobs.queue.health import living_workers

    with reading(data) as (session, _):
        living = living_workers(session)
    if not living:
        fail("No worker of this machine sent a heartbeat recently.", FAILED)
