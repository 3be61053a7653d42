"""`inductorscope worker-health`: for container checks."""

from inductorscope.cli.app import Data, app, fail, load_settings
from inductorscope.errors import FAILED


@app.command()
def worker_health(data: Data = None) -> None:
    """Exit with 0 if a worker of this machine sent a heartbeat recently, for container checks."""
    settings = load_settings(data=data)
    from inductorscope.jobs.queue.health import living_workers

    if not living_workers(settings):
        fail("No worker of this machine sent a heartbeat recently.", FAILED)
