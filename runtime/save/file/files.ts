import { DataError } from '../../errors/errors.ts';
import { isAbandoned, isUnfinished, newSuffix } from './unfinished-files.ts';

/** Returns Node's file functions, loaded on request because pages have none. */
function files(use: string): typeof import('node:fs/promises') {
  const found = globalThis.process?.getBuiltinModule?.('node:fs/promises');
  if (found) return found;
  throw new DataError({
    what: `${use}: no file system here`,
    given: 'a path outside of Node',
    expected: 'the bytes themselves',
    remedy: 'pass the bytes of a fetch() to load(), and offer those of save() as a download',
  });
}

/** Throws DataError if the file can't be read. */
export async function readBytes(path: string | URL): Promise<Uint8Array> {
  const { readFile } = files('load');
  try {
    return await readFile(path);
  } catch (cause) {
    throw new DataError({
      what: 'load: the file cannot be read',
      given: String(path),
      expected: 'a file that save() has made',
      remedy: 'check the path; pass the bytes of a fetch()',
      cause,
    });
  }
}

/**
 * Writes atomically: a reader never sees half a file, even while several writers save to it. Symbolic links are
 * followed, and the file's permissions are kept. Throws DataError if the file can't be written.
 */
export async function writeBytes(
  path: string | URL,
  bytes: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<void> {
  const { chmod, lstat, realpath, rename, rm, stat, writeFile } = files('save');
  let unfinished: string | URL | undefined;
  try {
    const before = await stat(path).catch(() => null);
    // Renaming would put a file in the place of a pipe, a device, or a link whose target doesn't exist yet.
    const isOther = before ? !before.isFile() : (await lstat(path).catch(() => null)) !== null;
    if (isOther) return await writeFile(path, bytes);
    const target = before ? await realpath(path) : path;
    const suffix = newSuffix();
    unfinished = target instanceof URL ? new URL(target.href + suffix) : target + suffix;
    await writeFile(unfinished, bytes, { mode: before?.mode });
    // The mode of a new file is limited by the process's umask.
    if (before) await chmod(unfinished, before.mode & 0o7777);
    const written = await stat(unfinished);
    await rename(unfinished, target);
    unfinished = undefined;
    await removeAbandoned(target, written).catch(() => {});
  } catch (cause) {
    if (unfinished) await rm(unfinished, { force: true }).catch(() => {});
    throw new DataError({
      what: 'save: the file cannot be written',
      given: String(path),
      expected: 'a path in a folder that can be written to',
      remedy: 'check the path',
      cause,
    });
  }
}

/** Removes what killed processes have left in the folder of a file. */
async function removeAbandoned(target: string | URL, written: { mtimeMs: number }): Promise<void> {
  const { readdir, rm, stat } = files('save');
  const folder =
    target instanceof URL ? new URL('.', target) : target.slice(0, folderLength(target));
  for (const name of await readdir(folder || '.')) {
    if (!isUnfinished(name)) continue;
    const path = folder instanceof URL ? new URL(encodeURIComponent(name), folder) : folder + name;
    // Another process may have removed it by now, or own it.
    const changed = await stat(path).catch(() => written);
    if (isAbandoned(changed, written)) await rm(path).catch(() => {});
  }
}

const folderLength = (path: string): number =>
  Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1;
