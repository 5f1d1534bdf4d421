/**
 * The cost of a budget, with slices and without: for each workload, the peak in addition to parameters and inputs,
 * relative to the final plan without slices or a budget; the recomputed share of forward's arithmetic; and the
 * processor time of planning.
 */

import { parseArgs } from 'node:util';
import { workload as transformer } from '../examples/workloads/char-transformer.ts';
import { workload as cswin } from '../examples/workloads/cswin.ts';
import { workload as resnet } from '../examples/workloads/resnet.ts';
import { sourceOf } from '../src/check/sources.ts';
import { deviceGuard, gelu, nn, optim, relu, type Tensor, toStatic, zeros } from '../src/index.ts';
import type { BuiltWorkload } from '../src/lab/compare/workload.ts';
import type { MemoryOptions } from '../src/programs/memory-options.ts';

/** Twenty layers of one width. */
function deepMlp(activation: (x: Tensor) => Tensor): BuiltWorkload {
  const layers = Array.from({ length: 20 }, () => new nn.Linear(64, 64));
  const model = new nn.Sequential(...layers);
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
  const loss = (x: Tensor) => {
    let y = x;
    for (const layer of layers) y = activation(layer.forward(y));
    return y.pow(2).mean();
  };
  return {
    loss: loss as BuiltWorkload['loss'],
    step(x) {
      const value = loss(x!);
      value.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return value;
    },
    optimizer,
    inputs: () => [zeros([1024, 64])],
    dispose() {
      optimizer.dispose();
      model.dispose();
    },
  };
}

const works: Record<string, () => BuiltWorkload> = {
  'mlp-relu': () => deepMlp(relu),
  'mlp-gelu': () => deepMlp((x) => gelu(x)),
  transformer: () => transformer.build({ device: 'meta' }),
  resnet: () => resnet.build({ device: 'meta' }),
  cswin: () => cswin.build({ device: 'meta' }),
  'cswin-full': () => cswin.build({ device: 'meta', size: 'full' }),
};

function curve(name: string, make: () => BuiltWorkload, memory: Partial<MemoryOptions>): void {
  deviceGuard('meta', () => {
    const work = make();
    const f = toStatic(work.step.bind(work) as (...inputs: Tensor[]) => Tensor, {
      memory,
      fallback: 'error',
    });
    const inputs = work.inputs(0);
    f(...inputs).dispose();
    const { planned } = f.programs().at(-1)!.stages!;
    const { program, requested, options, donated, compile } = sourceOf(planned)!;
    // Without a budget, a large program starts with a first plan, which programs within a budget don't have.
    const plan = (own: Partial<MemoryOptions>) => {
      const memory = { ...options.memory, ...own };
      return compile(program, requested, { ...options, tier: 'final', memory }, donated);
    };
    const most = plan({ slices: false }).planned.forward.predicted.peakBytes;
    console.log(`${name}: ${most} bytes without a budget and slices, ${program.ops.length} ops`);
    for (const share of shares) {
      const budget = Math.floor(most * share);
      for (const slices of options.memory.slices ? [true, false] : [false]) {
        const start = process.cpuUsage();
        const within = plan({ budget, slices });
        const { user, system } = process.cpuUsage(start);
        const { bytes, share: again } = within.recompute!;
        const columns = [
          `budget ${share.toFixed(2)}`,
          slices ? 'slices   ' : 'no slices',
          `peak ${(bytes / most).toFixed(3)} (${bytes})`,
          `again ${(again * 100).toFixed(1)} %`,
          `${Math.round((user + system) / 1000)} ms`,
        ];
        console.log(`  ${columns.join('  ')}${bytes > budget ? '  (exceeded)' : ''}`);
      }
    }
    for (const each of [...inputs, work]) each.dispose();
  });
}

const { values: options } = parseArgs({
  options: {
    works: { type: 'string', default: Object.keys(works).join(',') },
    shares: { type: 'string', default: '0.9,0.7,0.5,0.4,0.3,0.2,0' },
    without: { type: 'string', default: '' },
  },
});
const shares = options.shares.split(',').map(Number);
const off = options.without.split(',').filter((each) => each !== '');
const memory = Object.fromEntries(off.map((each) => [each, false]));
for (const name of options.works.split(',')) curve(name, works[name]!, memory);
