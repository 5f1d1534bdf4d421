import { describeNumerics } from '../../runtime/device/cpu/numerics-report.ts';
import { ArgumentError } from '../../runtime/errors/errors.ts';
import type { SortKey } from '../../runtime/profiler/profile-rows.ts';
import { profile } from '../../runtime/profiler/profiler.ts';
import { Captured } from '../dispatch/captured-function.ts';
import { loadFunction } from './files/load-function.ts';
import { writeOutput } from './files/write-output.ts';

interface ProfileOptions {
  readonly function?: string;
  readonly calls: string;
  readonly warmup: string;
  readonly sort: string;
  readonly limit: string;
  readonly eager?: boolean;
  readonly trace?: string;
  readonly json?: string;
}

/** `tostatic profile`: profiles an exported function, captured or eagerly. */
export async function profileFile(file: string, options: ProfileOptions): Promise<void> {
  const calls = count('--calls', options.calls, 1);
  const warmup = count('--warmup', options.warmup, 0);
  const limit = count('--limit', options.limit, 1);
  const { fn, inputs } = await loadFunction(file, options.function);
  const captured = options.eager ? null : new Captured(fn, {});
  const argumentsOf = async (times: number) => {
    const all: (readonly unknown[])[] = [];
    for (let i = 0; i < times; i++) all.push(await inputs());
    return all;
  };
  const run = async (all: readonly (readonly unknown[])[]) => {
    for (const args of all) await (captured ? captured.call(undefined, args) : fn(...args));
  };
  await run(await argumentsOf(warmup));
  await captured?.ready();
  // Created before recording: only the function is profiled.
  const recordedCalls = await argumentsOf(calls);
  const { profile: recorded } = await profile(() => run(recordedCalls));
  const report = recorded.report({ sort: options.sort as SortKey, limit });
  process.stdout.write(`${report}\n\nCPU numerics: ${describeNumerics()}\n`);
  if (options.trace) writeOutput(options.trace, JSON.stringify(recorded.trace()));
  if (options.json) writeOutput(options.json, `${JSON.stringify(recorded)}\n`);
}

function count(option: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least) return value;
  throw new ArgumentError({
    what: `profile: ${option} is not a count`,
    given: `${option} ${text}`,
    expected: `an integer from ${least}`,
    remedy: 'leave it out',
  });
}
