/**
 * Lines that a program writes while it may still bail out: the user's code, run instead, writes them
 * again. Null: lines are written immediately.
 */
let held: Line[] | null = null;

/** One line, and what is held for it. */
export interface Line {
  readonly write: () => void;
  readonly release: () => void;
}

/** Writes the line now, or late: when the run has come to its end. */
export function writeLine(line: (isLate: boolean) => Line): void {
  if (held) {
    held.push(line(true));
    return;
  }
  const { write, release } = line(false);
  try {
    write();
  } finally {
    release();
  }
}

/** Lines of `body` are written after it; where it throws and `isBailout` says so, none is. */
export function holdingLines<T>(body: () => T, isBailout: (error: unknown) => boolean): T {
  const outer = held;
  const lines: Line[] = [];
  held = lines;
  let writes = true;
  try {
    return body();
  } catch (error) {
    writes = !isBailout(error);
    throw error;
  } finally {
    held = outer;
    for (const { write, release } of lines) {
      try {
        if (writes) write();
      } finally {
        release();
      }
    }
  }
}

/** No line of `body` is written: it is a run beside the user's. */
export function droppingLines<T>(body: () => T): T {
  const outer = held;
  const lines: Line[] = [];
  held = lines;
  try {
    return body();
  } finally {
    held = outer;
    for (const { release } of lines) release();
  }
}
