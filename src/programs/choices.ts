import { Field } from '../../runtime/save/file/field.ts';

/**
 * The choices of the searches of one compilation, in the order in which they ran. Searches look for the best of
 * several legal programs; with their choices known, a compilation makes the same program again without looking.
 * Choices are plain data, and name candidates that the compiler itself has found: wrong ones could make a
 * worse plan, but never a wrong result.
 */
export class Choices {
  /** Those of an earlier compilation, still to be used; null: the searches run, and are noted. */
  readonly #known: Field[] | null;
  readonly #made: (readonly [search: string, choice: unknown])[] = [];
  #isOver: boolean;

  private constructor(known: Field[] | null, isOver = false) {
    this.#known = known;
    this.#isOver = isOver;
  }

  /** The choices of a compilation that is never repeated. */
  static none(): Choices {
    return new Choices(null, true);
  }

  /** Notes what the searches choose. */
  static noted(): Choices {
    return new Choices(null);
  }

  /** Those that an earlier compilation has noted, in its order. Throws DataError unless it is a list. */
  static known(saved: Field): Choices {
    return new Choices(saved.items().reverse());
  }

  /**
   * Returns the earlier choice of the search, or undefined if it has to run. Throws DataError for the choice of
   * another search, or one that `read` rejects.
   */
  of<T>(search: string, read: (choice: Field) => T): T | undefined {
    if (this.#isOver || !this.#known) return undefined;
    const next = this.#known.pop() ?? new Field(undefined, 'choices');
    const [name, choice] = next.tuple(2) as [Field, Field];
    name.oneOf([search]);
    return read(choice);
  }

  note(search: string, choice: unknown): void {
    if (!this.#isOver && !this.#known) this.#made.push([search, choice]);
  }

  /** Whether an earlier compilation has made the choices that are left. */
  get areKnown(): boolean {
    return !this.#isOver && this.#known !== null;
  }

  /** For one of several candidates that are compiled: `take` it if it is the best. */
  candidate(): Choices {
    return this.#isOver || this.#known ? this : Choices.noted();
  }

  take(candidate: Choices): void {
    if (candidate === this) return;
    this.#made.push(...candidate.#made);
    candidate.end();
  }

  /** Searches that run later, such as those for sizes of a run, are no part of the compilation. */
  end(): void {
    this.#isOver = true;
  }

  /** Whether every known choice was used. */
  get isUsedUp(): boolean {
    return this.#known?.length === 0;
  }

  toJSON(): unknown {
    return this.#made;
  }
}

/** Whole numbers below `count`. */
export function readIndices(choice: Field, count: number): number[] {
  return choice.items().map((index) => index.int(0, count - 1));
}
