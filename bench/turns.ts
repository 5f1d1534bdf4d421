/** Processes that take turns at the same work, so that other load on the machine affects all equally. */

import { type ChildProcess, fork } from 'node:child_process';

/** A request to a process: the number of steps to run, and whether to describe them. */
export interface Told {
  readonly steps: number;
  readonly isAsked?: boolean;
}

/** Results to compare, and milliseconds of one step. */
export interface Answer {
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
export function answerWith(step: () => number | Promise<number>, about: () => string): void {
  process.on('message', async ({ steps, isAsked }: Told) => {
    const results: number[] = [];
    const [start, used] = [performance.now(), process.cpuUsage()];
    for (let i = 0; i < steps; i++) results.push(await step());
    const { user, system } = process.cpuUsage(used);
    const [wall, cpu] = [performance.now() - start, (user + system) / 1000].map((ms) => ms / steps);
    process.send!({
      ...{ results, wall: wall!, cpu: cpu! },
      about: isAsked ? about() : '',
    } satisfies Answer);
  });
}

function asked(child: ChildProcess, told: Told): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('a process has ended'));
    child.once('exit', ended);
    child.once('message', (answer) => {
      child.off('exit', ended);
      resolve(answer as Answer);
    });
    child.send(told);
  });
}

export const least = (times: readonly number[]): number => Math.min(...times);
export const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[times.length >> 1]!;

export interface TurnOptions {
  readonly rounds: number;
  /** Steps per turn. */
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
export async function inTurns(
  work: string,
  contenders: readonly Contender[],
  { rounds, steps, base, tolerance }: TurnOptions,
): Promise<void> {
  const ways = contenders.map(({ title, script, args, env }) => {
    const child = fork(script, args, { env: { ...process.env, ...env } });
    return { title, child, wall: [] as number[], cpu: [] as number[] };
  });
  const first: Answer[] = [];
  for (const { child } of ways) first.push(await asked(child, { steps: 4, isAsked: true }));
  const [own, ...others] = first.map(({ results }) => results);
  const error = Math.max(
    ...others.flatMap((results) => results.map((result, i) => Math.abs(result - own![i]!))),
  );
  if (!(error < tolerance)) throw new Error(`${work}: not the same work: ${JSON.stringify(first)}`);
  const about = first.flatMap((answer) => answer.about || []);
  console.log(
    [`${work}: results differ by ${error.toExponential(1)} at most`, ...about].join('; '),
  );
  for (let round = -5; round < rounds; round++) {
    for (const { child, wall, cpu } of round % 2 === 0 ? ways : ways.toReversed()) {
      const answer = await asked(child, { steps });
      if (round < 0) continue;
      wall.push(answer.wall);
      cpu.push(answer.cpu);
    }
  }
  const over = ways[base]!;
  for (const { title, wall, cpu, child } of ways) {
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
