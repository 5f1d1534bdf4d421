import type { DataError } from '../../runtime/errors/errors.ts';
import { DataWriter, parseFile } from '../../runtime/save/file/container.ts';
import { badFile, type Field } from '../../runtime/save/file/field.ts';
import { isAbandoned, isUnfinished, newSuffix } from '../../runtime/save/file/unfinished-files.ts';

type Files = typeof import('node:fs');

/**
 * The files of a folder, each with a checksum. A file that can't be read is ignored and rewritten; the first such
 * file is reported.
 */
export class CacheFiles {
  readonly #folder: string;
  readonly #files: Files;
  #hasWarned = false;
  #isTidy = false;

  constructor(folder: string, files: Files) {
    this.#folder = folder;
    this.#files = files;
  }

  has(name: string): boolean {
    return this.#files.existsSync(this.#pathOf(name));
  }

  /** Returns undefined if there is no file of that name. Throws DataError. */
  read(name: string): Field | undefined {
    let bytes: Uint8Array;
    try {
      bytes = this.#files.readFileSync(this.#pathOf(name));
    } catch (cause) {
      if ((cause as { code?: unknown }).code === 'ENOENT') return undefined;
      throw badFile('its bytes', String(cause), 'a file that can be read');
    }
    return parseFile(bytes).header;
  }

  /** Writes atomically: other processes and threads may read or write the file at the same time. */
  write(name: string, header: unknown): void {
    const path = this.#pathOf(name);
    const unfinished = path + newSuffix();
    const { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } = this.#files;
    try {
      mkdirSync(this.#folder, { recursive: true });
      writeFileSync(unfinished, new DataWriter().file(header));
      this.#removeAbandoned(unfinished);
      renameSync(unfinished, path);
    } catch (error) {
      this.#warn(`nothing can be cached in ${this.#folder}: ${String(error)}`);
      if (existsSync(unfinished)) rmSync(unfinished, { force: true });
    }
  }

  /** Removes what killed processes have left in the folder, at the first write. */
  #removeAbandoned(written: string): void {
    if (this.#isTidy) return;
    this.#isTidy = true;
    const { readdirSync, rmSync, statSync } = this.#files;
    try {
      const now = statSync(written);
      for (const name of readdirSync(this.#folder).filter(isUnfinished)) {
        const path = this.#pathOf(name);
        const changed = statSync(path, { throwIfNoEntry: false });
        if (changed?.isFile() && isAbandoned(changed, now)) rmSync(path, { force: true });
      }
    } catch {
      // Another process may remove them at the same time, or own them: the file can be written nevertheless.
    }
  }

  refuse(name: string, { message }: DataError): void {
    this.#warn(`${this.#pathOf(name)} is not used, and is written again. ${message}`);
  }

  #pathOf(name: string): string {
    return `${this.#folder}/${name}`;
  }

  #warn(text: string): void {
    if (!this.#hasWarned) console.warn(`tostatic: TOSTATIC_CACHE: ${text}`);
    this.#hasWarned = true;
  }
}
