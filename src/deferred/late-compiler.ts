import { warnOnce } from '../explain/warn-once.ts';

export type Compiler = typeof import('./compiler.ts');

/** The compiler, which is loaded when it is needed. */
export class LateCompiler {
  readonly #import: () => Promise<Compiler>;
  #loading: Promise<Compiler> | null = null;
  /** Null before it is loaded. */
  now: Compiler | null = null;
  /** Why it could not be loaded. */
  failure: string | null = null;

  constructor(load: () => Promise<Compiler>) {
    this.#import = load;
  }

  /** Loads the compiler, again after a failure. Warns about failures. */
  load(): Promise<Compiler> {
    this.#loading ??= this.#loaded();
    return this.#loading;
  }

  async #loaded(): Promise<Compiler> {
    try {
      this.now = await this.#import();
      this.failure = null;
      return this.now;
    } catch (error) {
      this.#loading = null;
      this.failure = `the compiler could not be loaded (${error})`;
      warnOnce(`functions run as ordinary JavaScript: ${this.failure}`);
      throw error;
    }
  }

  /** Starts loading it, unless that has failed before. */
  request(): void {
    if (!this.#loading && !this.failure) this.load().catch(() => {});
  }
}
