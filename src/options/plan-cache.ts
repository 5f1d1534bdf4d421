import type { DataError } from '../../runtime/errors/errors.ts';
import { DataWriter, parseFile } from '../../runtime/save/container.ts';
import { badFile } from '../../runtime/save/field.ts';
import { builtinModule } from '../1-capture/script/builtin-module.ts';
import { type ChoiceStore, Choices } from '../programs/choices.ts';
import { cacheFromEnvironment } from './environment.ts';
import { packageVersion } from './package-version.ts';

/** Changes with what is searched, and how choices are written. */
const format = 2;

type Files = typeof import('node:fs');

/**
 * A folder in which processes leave each other what planning has chosen: a file for each program and version of this
 * package, with the checksum that all its files have. What can't be read is omitted and written again; the first such
 * file is reported.
 */
class PlanFiles implements ChoiceStore {
  readonly #folder: string;
  readonly #files: Files;
  readonly #digest: (text: string) => string;
  #hasWarned = false;

  constructor(folder: string, files: Files, digest: (text: string) => string) {
    this.#folder = folder;
    this.#files = files;
    this.#digest = digest;
  }

  has(program: string): boolean {
    return this.#files.existsSync(this.#pathOf(program));
  }

  find(program: string): Choices | undefined {
    const path = this.#pathOf(program);
    let bytes: Uint8Array;
    try {
      bytes = this.#files.readFileSync(path);
    } catch (cause) {
      if ((cause as { code?: unknown }).code === 'ENOENT') return undefined;
      throw badFile('its bytes', String(cause), 'a file that can be read');
    }
    return Choices.known(parseFile(bytes).header.get('choices'));
  }

  /** Whole or not at all: other processes may read the file, or write it, too. */
  keep(program: string, choices: Choices): void {
    const path = this.#pathOf(program);
    const unfinished = `${path}.${process.pid}.unfinished`;
    const { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } = this.#files;
    try {
      mkdirSync(this.#folder, { recursive: true });
      writeFileSync(unfinished, new DataWriter().file({ choices }));
      renameSync(unfinished, path);
    } catch (error) {
      this.#warn(`plans can't be kept in ${this.#folder}: ${String(error)}`);
      if (existsSync(unfinished)) rmSync(unfinished, { force: true });
    }
  }

  refuse(program: string, { message }: DataError): void {
    this.#warn(`${this.#pathOf(program)} is not used, and is written again. ${message}`);
  }

  #pathOf(program: string): string {
    return `${this.#folder}/${this.#digest(program)}.plan`;
  }

  #warn(text: string): void {
    if (!this.#hasWarned) console.warn(`tostatic: TOSTATIC_CACHE: ${text}`);
    this.#hasWarned = true;
  }
}

/** The cache in the folder `TOSTATIC_CACHE`; undefined if none is set, or without a file system. */
export function planCache(): ChoiceStore | undefined {
  const folder = cacheFromEnvironment();
  if (folder === undefined) return undefined;
  const known = stores.get(folder);
  if (known) return known;
  const [files, crypto] = [builtinModule('node:fs'), builtinModule('node:crypto')];
  if (!files || !crypto) return undefined;
  const digest = (text: string) => {
    const key = `${format} ${packageVersion}\n${text}`;
    return crypto.createHash('sha256').update(key).digest('hex').slice(0, 32);
  };
  const store = new PlanFiles(folder, files, digest);
  stores.set(folder, store);
  return store;
}

const stores = new Map<string, ChoiceStore>();
