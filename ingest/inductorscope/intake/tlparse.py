"""Finds folders that tlparse wrote; their files are records of a log, or pages made from it."""

from pathlib import PurePath, PurePosixPath

from inductorscope.formats.log.tlparse_folder import PAGES, FolderFile, file_of, is_known
from inductorscope.formats.vocabulary import TLPARSE_PAGE, TLPARSE_RECORD, TRACE_LOG
from inductorscope.intake.files import File


def mark_tlparse(files: list[File]) -> None:
    """Gives the files of such folders their roles. If the log itself is there too, they only repeat
    it."""
    logged = {file.absolute.parent for file in files if file.role == TRACE_LOG}
    others = [(file, record_of(file.absolute)) for file in files if file.role != TRACE_LOG]
    roots = {file.absolute.parents[1] for file, record in others if record and is_known(record)}
    for file, record in others:
        root = next((folder for folder in file.absolute.parents if folder in roots), None)
        if root is None:
            continue
        if record is not None:
            file.role = TLPARSE_PAGE if root in logged else TLPARSE_RECORD
            continue
        path = file.absolute
        if path.name in PAGES or path.suffix == ".html" or path.parent == root / "payloads":
            file.role = TLPARSE_PAGE


def record_of(file: PurePath) -> FolderFile | None:
    """Returns the log record that a file was made from."""
    return file_of(file.parent.name, file.name)


def folder_of_record(path: str) -> str:
    """Returns the path of tlparse's folder, under which its records are listed."""
    folder = str(PurePosixPath(path).parent.parent)
    return "tlparse" if folder == "." else folder
