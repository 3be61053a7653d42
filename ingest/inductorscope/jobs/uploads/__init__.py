"""Uploads: what may be announced, where their files are until a job reads them, and how long they
stay."""

from inductorscope.jobs.uploads.files import Uploads
from inductorscope.settings import Settings
from inductorscope.store.contents.objects import open_store

__all__ = ["Uploads", "open_uploads"]


def open_uploads(settings: Settings) -> Uploads:
    """Returns the files of an installation's uploads."""
    store = open_store(settings)
    if store is None:
        return Uploads(settings.uploads)
    # Imported here: obstore is installed only if there is an object store.
    from inductorscope.jobs.uploads.objects import UploadObjects

    return UploadObjects(store, settings.data)
