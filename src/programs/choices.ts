import { Field } from '../../runtime/save/file/field.ts';

/**
 * The choices that the searches of one compilation made, in the order in which they ran. A search picks the best of
 * several legal programs; given its earlier choices, a compilation rebuilds the same program without searching. Choices
 * are plain data that name candidates of the compiler: wrong choices could lead to a worse plan, but never to a wrong
 * result.
 */
export class Choices {
  /** Unused choices of an earlier compilation; null if searches run and record their choices. */
  readonly #known: Field[] | null;
  readonly #made: (readonly [search: string, choice: unknown])[] = [];
  #isOver: boolean;

  private constructor(known: Field[] | null, isOver = false) {
    this.#known = known;
    this.#isOver = isOver;
  }

  /** Choices of a compilation that is never repeated. */
  static none(): Choices {
    return new Choices(null, true);
  }

  /** Records what the searches choose. */
  static noted(): Choices {
    return new Choices(null);
  }

  /** Choices recorded by an earlier compilation, in order. Throws DataError unless `saved` is a list. */
  static known(saved: Field): Choices {
    return new Choices(saved.items().reverse());
  }

  /**
   * Returns the search's earlier choice, or undefined if the search has to run. Throws DataError if the next choice
   * belongs to another search, or if `read` rejects it.
   */
  of<T>(search: string, read: (choice: Field) => T): T | undefined {
    if (this.#isOver || !this.#known) return undefined;
    const next = this.#known.pop() ?? new Field(undefined, 'choices');
    const [name, choice] = next.tuple(2);
    name.oneOf([search]);
    return read(choice);
  }

  /** Returns the recorded choices as those of an earlier compilation. */
  again(): Choices {
    return Choices.known(new Field(this.#made, 'choices'));
  }

  note(search: string, choice: unknown): void {
    if (!this.#isOver && !this.#known) this.#made.push([search, choice]);
  }

  /** Whether the remaining choices come from an earlier compilation. */
  get areKnown(): boolean {
    return !this.#isOver && this.#known !== null;
  }

  /** Returns the choices of one of several compiled candidates; `take` adopts them if it is the best. */
  candidate(): Choices {
    return this.#isOver || this.#known ? this : Choices.noted();
  }

  take(candidate: Choices): void {
    if (candidate === this) return;
    this.#made.push(...candidate.#made);
    candidate.end();
  }

  /** Ends recording: later searches, such as those for new sizes, are not part of the compilation. */
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

/** Bytes that take as long to compute as a plan: computed when they are read or written to a file. */
export class LateBytes {
  readonly read: () => number;

  constructor(read: () => number) {
    this.read = read;
  }

  toJSON(): number {
    return this.read();
  }
}

/** Reads bytes that a search recorded. */
export function readBytes(choice: Field): () => number {
  if (choice.value instanceof LateBytes) return choice.value.read;
  const bytes = choice.int();
  return () => bytes;
}

/** Reads integers from 0 to `count` − 1. */
export function readIndices(choice: Field, count: number): number[] {
  return choice.items().map((index) => index.int(0, count - 1));
}
