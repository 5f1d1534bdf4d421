import { gradEnabled } from '../../../runtime/autograd/grad-mode.ts';
import { CheckError } from '../../../runtime/errors/errors.ts';
import { randomState, seed } from '../../../runtime/random/seed.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { isRefused } from '../../3-trace/variables/code-of.ts';
import { Captured } from '../../dispatch/captured-function.ts';
import { codeOf } from '../../dispatch/code-cache.ts';
import type { Code } from '../../vm/bytecode/code.ts';
import { functionOf, importFile } from '../files/load-function.ts';
import type { Mode } from './modes.ts';
import { type Observed, observe } from './observe.ts';

/** A request for a process to run one mode. */
export interface ModeRequest {
  readonly file: string;
  readonly function: string | undefined;
  readonly mode: Mode;
  readonly calls: number;
  /** Distinguishes versions of the file's text, since a process loads a module only once. */
  readonly version?: number;
}

export interface ModeReport {
  readonly observed: Observed;
  /** The number of runs and backwards that check mode compared. */
  readonly checked: number;
  /** Why the function, or parts of it, ran as ordinary JavaScript. */
  readonly fallbacks: readonly string[];
  /** The CheckError that ended the mode, or the error that makes it inapplicable. */
  readonly failed: Failure | null;
  /** The first line of each error that a call threw. */
  readonly thrown: readonly string[];
  /** The module's text as the engine runs it. */
  readonly text: string | null;
}

interface Failure {
  readonly name: string;
  readonly message: string;
  readonly culprit: string | null;
}

/**
 * Runs an exported function several times, eagerly or captured with checks on, and observes everything that it can
 * change: results with their gradients, exceptions, arguments, exports, free variables, and the state of the random
 * number generator.
 */
export async function runMode(request: ModeRequest): Promise<ModeReport> {
  const { file, mode, calls, version } = request;
  seed(0);
  const exported = await importFile(file, version);
  const { fn, inputs } = functionOf(file, request.function, exported);
  const found = codeOf(fn, {});
  const code = isRefused(found) ? null : found.closure;
  const captured = mode.options && new Captured(fn, { ...mode.options, check: calls });
  const run = (args: readonly unknown[]): unknown =>
    captured ? captured.call(undefined, args) : Reflect.apply(fn, undefined, args);
  const rounds: Record<string, unknown>[] = [];
  const thrown: string[] = [];
  let failed: ModeReport['failed'] = null;
  for (let i = 0; i < calls && !failed; i++) {
    const args = await inputs();
    try {
      const result: unknown = await run(args);
      // Each program runs once with its first plan, then with the final one.
      await captured?.ready();
      const errors = Array.from(tensorsIn(result), errorOfBackward).filter(Boolean);
      rounds.push({ arguments: args, result, errors });
    } catch (error) {
      if (isVerdict(error)) failed = failureOf(error);
      rounds.push({ arguments: args, thrown: error });
      thrown.push(firstLine(error));
    }
  }
  const outer = code ? variablesOf(code.code, (name) => code.scope.get(name)) : {};
  const roots = {
    calls: rounds,
    variables: outer,
    exports: { ...exported },
    random: randomState(),
  };
  const stats = captured?.stats();
  const { runs, backwards } = stats?.checks ?? { runs: 0, backwards: 0 };
  return {
    observed: observe(roots),
    checked: runs + backwards,
    fallbacks: stats?.fallbacks.map(({ why }) => firstLine(why)) ?? [],
    failed,
    thrown,
    text: code ? code.code.source.text : null,
  };
}

function failureOf(error: Error): Failure {
  const culprit = error instanceof CheckError ? error.culprit : null;
  return { name: error.name, message: error.message, culprit };
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.split('\n')[0]!;
}

/** Errors about the capture rather than the function. */
function isVerdict(error: unknown): error is Error {
  return (
    error instanceof Error &&
    ['CheckError', 'CaptureError', 'FullGraphError', 'InvariantError'].includes(error.name)
  );
}

/**
 * Computes gradients, which are compared, too. A step that runs backward itself has freed the graph of its loss: that
 * error is compared as well, and doesn't count as a failed call.
 */
function errorOfBackward(tensor: Tensor): unknown {
  if (!gradEnabled() || !tensor.requiresGrad || !tensor.gradEdge) return null;
  try {
    tensor.sum().backward({ retainGraph: true });
    return null;
  } catch (error) {
    if (isVerdict(error)) throw error;
    return error;
  }
}

function* tensorsIn(value: unknown, met = new Set<unknown>()): Generator<Tensor> {
  if (typeof value !== 'object' || value === null || met.has(value)) return;
  met.add(value);
  if (value instanceof Tensor) yield value;
  else for (const element of Object.values(value)) yield* tensorsIn(element, met);
}

/** The free variables of a function and of the functions inside it. */
function variablesOf(code: Code, read: (name: string) => unknown): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const instruction of code.instructions) {
    if (instruction.op !== 'loadFree' && instruction.op !== 'storeFree') continue;
    if (instruction.name in globalThis) continue;
    try {
      values[instruction.name] = read(instruction.name);
    } catch {
      // Not initialized yet, or no such variable: nothing to observe.
    }
  }
  return values;
}
