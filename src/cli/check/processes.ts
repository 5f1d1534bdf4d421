import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { eager, type Mode } from './modes.ts';
import type { ModeReport, ModeRequest } from './run-mode.ts';

/** The observations of one mode; `ended`: why the module failed or the process died. */
export type ModeObservation =
  | { readonly report: ModeReport; readonly lines: string }
  | { readonly ended: string };

type Request = Omit<ModeRequest, 'mode'>;

/** How long one mode may take, in milliseconds. */
const timeLimit = 120_000;

/** A process that runs modes on request. Modules and random numbers start afresh in a new one. */
class ModeProcess {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #receive: (observation: ModeObservation) => void = () => {};
  #lines = '';
  #errors = '';

  constructor() {
    this.#child = fork(process.argv[1]!, ['check-mode'], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#closed = once(this.#child, 'close');
    this.#child.on('message', (observation) => this.#receive(observation as ModeObservation));
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.#lines += text;
    });
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
  }

  get isAlive(): boolean {
    return this.#child.connected;
  }

  async observe(request: ModeRequest, limit: number): Promise<ModeObservation> {
    this.#errors = '';
    const timer = setTimeout(() => this.kill(), limit);
    const reply = new Promise<ModeObservation>((resolve) => {
      this.#receive = resolve;
    });
    const end = this.#closed.then(
      (): ModeObservation => ({ ended: this.#errors.trim() || 'the process ended without output' }),
    );
    // If the process has ended, its `close` event reports that.
    if (this.isAlive) this.#child.send(request, () => {});
    const observation = await Promise.race([reply, end]);
    clearTimeout(timer);
    return observation;
  }

  /** Lets the process end by itself, and returns the rest of its output. */
  async finish(limit: number): Promise<string> {
    const timer = setTimeout(() => this.kill(), limit);
    // A parent that disconnects itself receives no `close`.
    if (this.isAlive) this.#child.send('finish', () => {});
    await this.#closed;
    clearTimeout(timer);
    return this.#lines;
  }

  kill(): void {
    this.#child.kill();
  }
}

/** Runs one mode in a separate process. */
export async function observeMode(request: ModeRequest): Promise<ModeObservation> {
  const modeProcess = new ModeProcess();
  const observation = await modeProcess.observe(request, timeLimit);
  const late = await modeProcess.finish(timeLimit);
  return 'ended' in observation ? observation : { ...observation, lines: observation.lines + late };
}

/** Two processes, for eager execution and a mode, that judge modules one after another. */
export class ModePair {
  readonly #eager = new ModeProcess();
  readonly #captured = new ModeProcess();
  readonly #mode: Mode;

  constructor(mode: Mode) {
    this.#mode = mode;
  }

  get isAlive(): boolean {
    return this.#eager.isAlive && this.#captured.isAlive;
  }

  /**
   * Compares the mode with eager execution. Null if the function fails eagerly, or throws in more calls than `throws`.
   */
  async compareWithEager(request: Request, throws: number, limit: number): Promise<Verdict | null> {
    const [expected, actual] = await Promise.all([
      this.#eager.observe({ ...request, mode: eager }, limit),
      this.#captured.observe({ ...request, mode: this.#mode }, limit),
    ]);
    if ('ended' in expected || expected.report.thrown.length > throws) return null;
    return compare(expected, actual);
  }

  kill(): void {
    this.#eager.kill();
    this.#captured.kill();
  }
}

export interface ModeDifference {
  /** The location of the difference: a path, or `console`. */
  readonly at: string;
  readonly eager: string;
  readonly captured: string;
  /** The pass or memory option that check mode found to cause it. */
  readonly culprit?: string | null;
}

/** The verdict on one mode. */
export type Verdict =
  | {
      readonly kind: 'same';
      readonly checked: number;
      /** Why the function, or parts of it, ran as ordinary JavaScript. */
      readonly fallbacks: readonly string[];
    }
  /** The mode does not apply, for example because the function is not one program. */
  | { readonly kind: 'refused'; readonly why: string }
  | DifferentVerdict;

interface DifferentVerdict {
  readonly kind: 'different';
  readonly difference: ModeDifference;
}

/** Runs a mode in a separate process, and compares it with eager execution. */
export async function compareSeparately(
  request: Request,
  mode: Mode,
  expected: Exclude<ModeObservation, { ended: string }>,
): Promise<Verdict> {
  return compare(expected, await observeMode({ ...request, mode }));
}

function compare(
  expected: Exclude<ModeObservation, { ended: string }>,
  actual: ModeObservation,
): Verdict {
  if ('ended' in actual) return different('the process', 'ends as it should', actual.ended);
  const { failed } = actual.report;
  if (failed && failed.name !== 'CheckError' && failed.name !== 'InvariantError') {
    return { kind: 'refused', why: reasonIn(failed.message) };
  }
  if (failed) {
    const { difference } = different('check mode', 'no difference', failed.message);
    return { kind: 'different', difference: { ...difference, culprit: failed.culprit } };
  }
  const [a, b] = [expected.report.observed, actual.report.observed];
  for (const path of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (a[path] !== b[path]) return different(path, a[path] ?? 'nothing', b[path] ?? 'nothing');
  }
  if (expected.lines !== actual.lines) return different('console', expected.lines, actual.lines);
  const { checked, fallbacks } = actual.report;
  return { kind: 'same', checked, fallbacks };
}

/** The first line of a message, with what was given. */
function reasonIn(message: string): string {
  const [first = ''] = message.split('\n');
  const given = /^ {2}given: +(.*)/m.exec(message)?.[1];
  return given ? `${first}: ${given}` : first;
}

function different(at: string, eagerly: string, captured: string): DifferentVerdict {
  return { kind: 'different', difference: { at, eager: eagerly, captured } };
}
