// Turns dropped or chosen items into files with their paths inside the dropped folder.

export interface Picked {
  path: string;
  file: File;
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

/** A folder's reader returns its entries in batches, until an empty one. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const lot = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (!lot.length) return all;
    all.push(...lot);
  }
}

async function walk(entry: FileSystemEntry, into: Picked[]): Promise<void> {
  const path = entry.fullPath.replace(/^\//, "");
  if (entry.isFile) {
    into.push({ path, file: await fileOf(entry as FileSystemFileEntry) });
    return;
  }
  for (const child of await entriesOf(entry as FileSystemDirectoryEntry)) await walk(child, into);
}

/** All files of a drop. The entries must be read before the first `await`, after which the drop is
 * gone. */
export async function dropped(data: DataTransfer): Promise<Picked[]> {
  const entries = [...data.items]
    .map((item) => item.webkitGetAsEntry())
    .filter((entry) => entry !== null);
  if (!entries.length) return chosen(data.files);
  const picked: Picked[] = [];
  for (const entry of entries) await walk(entry, picked);
  return picked;
}

export function chosen(files: FileList): Picked[] {
  return [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** The default name of the upload: the folder's, or the file's. */
export function nameOf(picked: readonly Picked[]): string {
  const tops = new Set(picked.map((each) => each.path.split("/")[0] ?? ""));
  const [top] = tops;
  if (tops.size === 1 && top) return top;
  return picked.length === 1 ? (picked[0]?.path ?? "") : `${picked.length} files`;
}
