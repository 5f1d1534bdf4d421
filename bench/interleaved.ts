/** Interleaved rounds of processes that do the same work, so that other load on the machine affects all equally. */

import { type ChildProcess, fork } from 'node:child_process';

/** A request to a process: the number of steps to run, and whether to describe them. */
export interface StepRequest {
  readonly steps: number;
  readonly describes?: boolean;
}

/** Results to compare, and milliseconds of one step. */
export interface StepResults {
  readonly results: readonly number[];
  readonly wall: number;
  readonly cpu: number;
  readonly about: string;
}

export interface Contender {
  readonly title: string;
  readonly script: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** In a contender's process: runs steps on request. `step` returns a number to compare. */
export function runOnRequest(step: () => number | Promise<number>, about: () => string): void {
  process.on('message', async ({ steps, describes }: StepRequest) => {
    const results: number[] = [];
    const [start, used] = [performance.now(), process.cpuUsage()];
    for (let i = 0; i < steps; i++) results.push(await step());
    const { user, system } = process.cpuUsage(used);
    const [wall, cpu] = [performance.now() - start, (user + system) / 1000].map((ms) => ms / steps);
    process.send!({
      ...{ results, wall: wall!, cpu: cpu! },
      about: describes ? about() : '',
    } satisfies StepResults);
  });
}

function requestSteps(child: ChildProcess, request: StepRequest): Promise<StepResults> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('a process has ended'));
    child.once('exit', ended);
    child.once('message', (results) => {
      child.off('exit', ended);
      resolve(results as StepResults);
    });
    child.send(request);
  });
}

export const least = (times: readonly number[]): number => Math.min(...times);
export const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[times.length >> 1]!;

export interface RoundOptions {
  readonly rounds: number;
  /** Steps of one process per round. */
  readonly steps: number;
  /** The contender that ratios refer to. */
  readonly base: number;
  /** The largest accepted difference between results. */
  readonly tolerance: number;
}

/**
 * Prints the least and the median milliseconds of a step, wall time and processor time, and their ratios. Throws if
 * the results of the first steps differ.
 */
export async function compareInterleaved(
  work: string,
  contenders: readonly Contender[],
  { rounds, steps, base, tolerance }: RoundOptions,
): Promise<void> {
  const processes = contenders.map(({ title, script, args, env }) => {
    const child = fork(script, args, { env: { ...process.env, ...env } });
    return { title, child, wall: [] as number[], cpu: [] as number[] };
  });
  const first: StepResults[] = [];
  for (const { child } of processes)
    first.push(await requestSteps(child, { steps: 4, describes: true }));
  const [expected, ...rest] = first.map(({ results }) => results);
  const error = Math.max(
    ...rest.flatMap((results) => results.map((result, i) => Math.abs(result - expected![i]!))),
  );
  if (!(error < tolerance)) throw new Error(`${work}: not the same work: ${JSON.stringify(first)}`);
  const about = first.flatMap((each) => each.about || []);
  console.log(
    [`${work}: results differ by ${error.toExponential(1)} at most`, ...about].join('; '),
  );
  for (let round = -5; round < rounds; round++) {
    for (const { child, wall, cpu } of round % 2 === 0 ? processes : processes.toReversed()) {
      const measured = await requestSteps(child, { steps });
      if (round < 0) continue;
      wall.push(measured.wall);
      cpu.push(measured.cpu);
    }
  }
  const over = processes[base]!;
  for (const { title, wall, cpu, child } of processes) {
    const shown = [least(wall), median(wall), least(cpu), median(cpu)].map((ms) => ms.toFixed(2));
    const ratios = [
      least(wall) / least(over.wall),
      median(wall) / median(over.wall),
      least(cpu) / least(over.cpu),
      median(cpu) / median(over.cpu),
    ].map((ratio) => `${ratio.toFixed(2)}×`);
    console.log(`  ${title}: ${shown.join(', ')} ms (${ratios.join(', ')})`);
    child.kill();
  }
}
