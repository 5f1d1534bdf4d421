import type { DataError } from '../../runtime/errors/errors.ts';
import { type ChoiceStore, Choices } from '../programs/choices.ts';
import type { CacheFiles } from './cache-files.ts';
import type { Digest } from './code-print.ts';

/** The choices of planning, in a file for each program and version of this package. */
export class PlanFiles implements ChoiceStore {
  readonly #files: CacheFiles;
  readonly #digest: Digest;

  constructor(files: CacheFiles, digest: Digest) {
    this.#files = files;
    this.#digest = digest;
  }

  has(program: string): boolean {
    return this.#files.has(this.#nameOf(program));
  }

  find(program: string): Choices | undefined {
    const header = this.#files.read(this.#nameOf(program));
    return header && Choices.known(header.get('choices'));
  }

  keep(program: string, choices: Choices): void {
    this.#files.write(this.#nameOf(program), { choices });
  }

  refuse(program: string, error: DataError): void {
    this.#files.refuse(this.#nameOf(program), error);
  }

  #nameOf(program: string): string {
    return `${this.#digest(program)}.plan`;
  }
}
