/**
 * The time of a step within a budget, relative to the compiled step without slices or a budget. For each workload,
 * prints the peak of eager execution; then, for each budget, the measured peak relative to it, the recomputed share of
 * forward's arithmetic, and the ratio of times. Plans are interleaved in one process, so that drift of the machine
 * affects them equally. Ends with the fewest bytes that take at most `--most` times as long, and their mean.
 *
 *     npx tsx bench/budget-time.ts [--works mlp,lstm] [--shares 0.5,0.3] [--most 1.1] [--seconds 6] [--cpu]
 */

import { parseArgs } from 'node:util';
import { workload as transformer } from '../examples/workloads/char-transformer.ts';
import { workload as convNet } from '../examples/workloads/conv-net.ts';
import { workload as cswin } from '../examples/workloads/cswin.ts';
import { workload as lstm } from '../examples/workloads/lstm.ts';
import { workload as mlp } from '../examples/workloads/mlp.ts';
import { workload as resnet } from '../examples/workloads/resnet.ts';
import { memory, refcounted, type Tensor, toStatic } from '../src/index.ts';
import type { Workload } from '../src/lab/compare/workload.ts';
import type { MemoryOptions } from '../src/programs/memory-options.ts';

interface Work {
  readonly workload: Workload;
  /** Budgets, as shares of the bytes that the step needs without slices or a budget. */
  readonly shares: readonly number[];
  /** Budgets that are also measured without slices, met by recomputation alone. */
  readonly unsliced?: readonly number[];
}

/**
 * Workloads of a size for training on a CPU, with budgets that slices and a third of forward may meet in about the
 * same time.
 */
const works: Record<string, Work> = {
  mlp: { workload: mlp, shares: [0.7] },
  'conv-net': { workload: convNet, shares: [0.5, 0.3, 0.15] },
  lstm: { workload: lstm, shares: [0.8, 0.67] },
  resnet: { workload: resnet, shares: [0.5, 0.4, 0.35] },
  transformer: { workload: transformer, shares: [0.65, 0.4, 0.29], unsliced: [0.53, 0.4] },
  cswin: { workload: cswin, shares: [0.6, 0.5] },
};

const { values: options } = parseArgs({
  options: {
    works: { type: 'string', default: Object.keys(works).join(',') },
    shares: { type: 'string' },
    cpu: { type: 'boolean', default: false },
    most: { type: 'string', default: '1.1' },
    seconds: { type: 'string', default: '6' },
  },
});
const [most, seconds] = [Number(options.most), Number(options.seconds)];

interface Plan {
  readonly title: string;
  /** All bytes allocated at the peak of a step. */
  readonly peak: number;
  /** The recomputed share of forward's arithmetic. */
  readonly again: number;
  readonly run: () => void;
  readonly times: number[];
}

/** Milliseconds of wall time, or of processor time on a busy machine. */
function now(): number {
  if (!options.cpu) return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[times.length >> 1]!;

function peakOf(run: () => void): number {
  run();
  memory.reset('cpu');
  run();
  return memory.stats('cpu').peakAllocated;
}

/** The smallest share of eager execution's bytes at which a step takes at most `most` times as long. */
async function measure(name: string): Promise<number> {
  const { workload, shares: own, unsliced: alone = [] } = works[name]!;
  const work = workload.build({ device: 'cpu', size: 'reduced', breaks: false });
  const batch = work.inputs(0);
  const step = work.step.bind(work) as (...inputs: Tensor[]) => Tensor;
  const eagerStep = refcounted(step);
  const eager = peakOf(() => eagerStep(...batch).dispose());
  const held = memory.stats('cpu').allocated;
  const plan = async (title: string, choice: Partial<MemoryOptions>): Promise<Plan> => {
    const f = toStatic(step, { memory: choice, fallback: 'error' });
    const run = () => f(...batch).dispose();
    run();
    run();
    await f.ready();
    const { recompute } = f.programs().at(-1)!.stages!;
    return { title, peak: peakOf(run), again: recompute?.share ?? 0, run, times: [] };
  };
  const unsliced = await plan('no slices', { slices: false });
  const given = options.shares?.split(',').map(Number);
  const plans = [unsliced, await plan('no budget', {})];
  for (const slices of [true, false]) {
    for (const share of given ?? (slices ? own : alone)) {
      const budget = Math.floor((unsliced.peak - held) * share);
      const title = `budget ${share.toFixed(3)}${slices ? '' : ', no slices'}`;
      plans.push(await plan(title, { budget, slices }));
    }
  }
  const until = performance.now() + 1000 * seconds;
  for (let round = -5; round < 15 || performance.now() < until; round++) {
    // Caches depend on what ran before, so each plan runs after every other.
    const first = Math.floor(Math.random() * plans.length);
    const by = round % 2 === 0 ? 1 : plans.length - 1;
    for (let i = 0; i < plans.length; i++) {
      const { run, times } = plans[(first + i * by) % plans.length]!;
      run();
      const start = now();
      run();
      if (round >= 0) times.push(now() - start);
    }
  }
  console.log(`${name}: eager ${eager} bytes, held between steps ${held}`);
  const fitting: number[] = [];
  for (const { title, peak, again, times } of plans) {
    const ratio = median(times) / median(unsliced.times);
    if (ratio <= most) fitting.push(peak / eager);
    const columns = [
      title.padEnd(23),
      `of eager ${(peak / eager).toFixed(3)} (${peak})`,
      `again ${(again * 100).toFixed(1)} %`,
      `${median(times).toFixed(2)} ms`,
      `${ratio.toFixed(3)}×`,
    ];
    console.log(`  ${columns.join('  ')}`);
  }
  for (const each of [...batch, work]) each.dispose();
  return Math.min(...fitting);
}

const best: number[] = [];
for (const name of options.works.split(',')) best.push(await measure(name));
const mean = Math.exp(best.reduce((sum, each) => sum + Math.log(each), 0) / best.length);
console.log(
  `of eager, at most ${most} times as long: ${best.map((each) => each.toFixed(3)).join(', ')}; geometric mean ${mean.toFixed(3)}`,
);
