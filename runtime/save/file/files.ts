import { DataError } from '../../errors/errors.ts';

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
 * Writes atomically: a reader never sees half a file, also if several save to it. A link remains one, to the new file. Throws
 * DataError if the file can't be written.
 */
export async function writeBytes(
  path: string | URL,
  bytes: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<void> {
  const { realpath, rename, rm, stat, writeFile } = files('save');
  let unfinished: string | URL | undefined;
  try {
    const before = await stat(path).catch(() => null);
    // Renaming would put a file in the place of a pipe or device.
    if (before && !before.isFile()) return await writeFile(path, bytes);
    const target = before ? await realpath(path) : path;
    const suffix = `.${crypto.randomUUID()}.unfinished`;
    unfinished = target instanceof URL ? new URL(target.href + suffix) : target + suffix;
    await writeFile(unfinished, bytes, { mode: before?.mode });
    await rename(unfinished, target);
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
