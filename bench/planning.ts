/**
 * How planning time grows with the depth of training steps: processor time from the trace to the plan, with all
 * passes.
 */

import { parseArgs } from 'node:util';
import { Captured } from '../src/dispatch/captured-function.ts';
import { crossEntropy, deviceGuard, gelu, nn, optim, type Tensor, zeros } from '../src/index.ts';

/** Two linear layers around a GELU, with a norm and a residual connection. */
class Block extends nn.Module {
  norm: nn.LayerNorm;
  up: nn.Linear;
  down: nn.Linear;

  constructor(width: number) {
    super();
    this.norm = new nn.LayerNorm(width);
    this.up = new nn.Linear(width, 4 * width);
    this.down = new nn.Linear(4 * width, width);
  }

  override forward(x: Tensor): Tensor {
    return x.add(this.down.forward(gelu(this.up.forward(this.norm.forward(x)))));
  }
}

interface Planning {
  readonly depth: number;
  /** Ops of the traced program: slices multiply them, and fusion reduces them. */
  readonly ops: number;
  /** Processor time in milliseconds: of the whole first call, with a first plan, and without planning. */
  readonly call: number;
  readonly first: number;
  readonly trace: number;
  readonly overBound: number;
}

const [batch, width] = [1024, 64];

function planning(depth: number): Planning {
  return deviceGuard('meta', () => {
    const blocks = Array.from({ length: depth }, () => new Block(width));
    const model = new nn.Sequential(...blocks);
    const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-3 });
    const step = (x: Tensor, labels: Tensor): Tensor => {
      const loss = crossEntropy(model.forward(x), labels);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    };
    const x = zeros([batch, width]);
    const labels = zeros([batch], { dtype: 'int32' });
    const firstCall = (memory: object): [number, Captured] => {
      const captured = new Captured(step as Captured['fn'], { memory });
      const start = process.cpuUsage();
      (captured.call(undefined, [x, labels]) as Tensor).dispose();
      const { user, system } = process.cpuUsage(start);
      return [(user + system) / 1000, captured];
    };
    const [trace] = firstCall({ order: false, slices: false, arena: false, minimizeSaved: false });
    const [first] = firstCall({});
    const [call, captured] = firstCall({ prefer: 'bytes' });
    const { planned, traced } = captured.parts.at(-1)!.stages!;
    const { peakBytes, lowerBoundBytes } = planned.forward.predicted;
    for (const each of [x, labels, optimizer, model]) each.dispose();
    const overBound = peakBytes / lowerBoundBytes;
    return { depth, ops: traced.ops.length, call, first, trace, overBound };
  });
}

function benchPlanning(): void {
  // Warms up the code.
  planning(4);
  const { values } = parseArgs({ options: { blocks: { type: 'string', default: '25,50,100' } } });
  const rows = values.blocks.split(',').map(Number).map(planning);
  process.stdout.write(
    'blocks     ops   first call ms   planning ms   ms / 1000 ops   plan / bound of what is made\n',
  );
  for (const { depth, ops, call, first, trace, overBound } of rows) {
    const own = call - trace;
    const cells = [
      depth,
      ops,
      first.toFixed(0),
      own.toFixed(0),
      ((own / ops) * 1000).toFixed(0),
      overBound.toFixed(3),
    ];
    const widths = [6, 7, 15, 13, 15, 15];
    process.stdout.write(
      `${cells.map((cell, i) => String(cell).padStart(widths[i]!)).join(' ')}\n`,
    );
  }
}

benchPlanning();
