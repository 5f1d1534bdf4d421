import { rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Mode } from './modes.ts';
import { type ModeDifference, ModePair } from './processes.ts';
import { reduce } from './reduce.ts';
import type { ModeRequest } from './run-mode.ts';

/** A module that behaves differently in a mode. */
interface Finding {
  readonly mode: Mode;
  readonly difference: ModeDifference;
  /** The module's text as the engine runs it. */
  readonly text: string;
  /** How many calls throw eagerly. */
  readonly throws: number;
}

/** How long the whole module may take, in milliseconds. */
const timeLimit = 120_000;

/**
 * Writes the smallest module found within the time limit that still shows a difference, and returns its path; null if
 * the text alone doesn't show it.
 */
export async function writeSmallest(
  request: Omit<ModeRequest, 'mode'>,
  finding: Finding,
  seconds: number,
): Promise<string | null> {
  const deadline = Date.now() + seconds * 1000;
  const name = basename(request.file).replace(/\.[cm]?[jt]sx?$/, '');
  const result = join(dirname(request.file), `${name}.check.mjs`);
  const repeated = new Repeated({ ...request, file: result }, finding);
  const shows = (text: string, calls?: number): Promise<boolean> => {
    writeFileSync(result, text);
    return repeated.shows(calls);
  };
  try {
    const whole = finding.text.replace(/^\/\/# source(?:MappingURL|URL)=.*$/gm, '');
    // Usually the first call shows it, and one call takes less time than several.
    if (!(await shows(whole)) && !(await shows(whole, request.calls))) {
      rmSync(result, { force: true });
      return null;
    }
    const names = ['inputs', ...(request.function ? [request.function] : [])];
    const smallest = await reduce(whole, names, shows, deadline);
    const head = `// ${finding.mode.name} differs from eager execution: tostatic check ${basename(result)}`;
    writeFileSync(result, `${head}\n${smallest}`);
    return result;
  } finally {
    repeated.end();
  }
}

/** Tells whether successive texts of a file still show a difference. */
class Repeated {
  readonly #request: Omit<ModeRequest, 'mode'>;
  readonly #finding: Finding;
  #used: ModePair | null = null;
  #version = 0;
  #calls = 1;
  #limit = timeLimit;

  constructor(request: Omit<ModeRequest, 'mode'>, finding: Finding) {
    this.#request = request;
    this.#finding = finding;
  }

  /**
   * Makes as many calls as before if `calls` is omitted. Most texts show no difference, which processes that have run
   * other texts find out quickly. Their leftover state must not decide, so new processes confirm a difference.
   */
  async shows(calls = this.#calls): Promise<boolean> {
    this.#calls = calls;
    this.#version++;
    if (this.#used?.isAlive && !(await this.#isLike(this.#used))) return false;
    this.end();
    this.#used = new ModePair(this.#finding.mode);
    const start = Date.now();
    const isLike = await this.#isLike(this.#used);
    // Smaller modules that take much longer loop forever.
    if (isLike) this.#limit = Math.min(this.#limit, 5_000 + 4 * (Date.now() - start));
    return isLike;
  }

  async #isLike(pair: ModePair): Promise<boolean> {
    const { difference, throws } = this.#finding;
    const request = { ...this.#request, calls: this.#calls, version: this.#version };
    const verdict = await pair.compareWithEager(request, throws, this.#limit);
    return verdict?.kind === 'different' && sortOf(verdict.difference) === sortOf(difference);
  }

  end(): void {
    this.#used?.kill();
  }
}

/**
 * Returns what differences with the same cause have in common: a module that gets smaller must not start to show
 * another one. `calls[0].result[1]` and `calls[2].result.grad` are equivalent, and so are differences of one pass.
 */
function sortOf({ at, culprit }: ModeDifference): string {
  const path = /^calls\[\d+\]\.\w+|^\w+/.exec(at)![0].replace(/\d+/, '');
  return `${path} ${culprit ?? ''}`;
}
