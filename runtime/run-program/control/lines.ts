/**
 * Lines held back while the program may still bail out, in which case the user code prints them itself. Null if lines
 * are printed immediately.
 */
let held: Line[] | null = null;

/** A line, and the values kept for it. */
export interface Line {
  readonly write: () => void;
  readonly release: () => void;
}

/** Prints the line immediately, or late: when the run has finished. */
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

/** Prints lines of `body` after it; prints none if it throws and `isBailout` returns true. */
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

/** Suppresses the lines of `body`, which runs in addition to the user's call. */
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
