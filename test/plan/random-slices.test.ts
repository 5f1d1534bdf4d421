/** Random networks in training, run part by part: every parameter and loss has the bits of eager execution. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Captured } from '../../src/dispatch/captured-function.ts';
import {
  cat,
  crossEntropy,
  gelu,
  memory,
  nn,
  optim,
  randn,
  refcounted,
  relu,
  seed,
  softmax,
  type Tensor,
  tensor,
} from '../../src/index.ts';

const kinds = [
  'linear',
  'relu',
  'gelu',
  'norm',
  'residual',
  'softmax',
  'heads',
  'steps',
  'gates',
] as const;
type Kind = (typeof kinds)[number];

interface Shape {
  readonly layers: readonly Kind[];
  readonly batch: number;
  readonly width: number;
  readonly adam: boolean;
}

class Net extends nn.Module {
  readonly linears: readonly nn.Linear[];
  readonly norms: readonly nn.LayerNorm[];
  last: nn.Linear;
  readonly layers: readonly Kind[];

  constructor({ layers, width }: Shape) {
    super();
    this.layers = layers;
    this.linears = layers.map(() => new nn.Linear(width, width));
    this.norms = layers.map(() => new nn.LayerNorm(width));
    this.last = new nn.Linear(width, 5);
  }

  override forward(input: Tensor): Tensor {
    let x = input;
    for (let i = 0; i < this.layers.length; i++) x = this.layer(i, x);
    return this.last.forward(x);
  }

  layer(i: number, x: Tensor): Tensor {
    const kind = this.layers[i];
    if (kind === 'linear') return this.linears[i]!.forward(x);
    if (kind === 'relu') return relu(x);
    if (kind === 'gelu') return gelu(x);
    if (kind === 'norm') return this.norms[i]!.forward(x);
    if (kind === 'residual') return x.add(this.linears[i]!.forward(relu(x)));
    if (kind === 'softmax') return softmax(x).mul(x);
    if (kind === 'steps')
      return this.steps(i, x, (projected, state) => projected.add(state).tanh());
    if (kind === 'gates') return this.steps(i, x, gated);
    const [n, width] = x.shape as [number, number];
    const heads = x.reshape([n, width / 4, 4]).transpose(1, 2);
    return softmax(heads.matmul(heads.transpose(1, 2)))
      .matmul(heads)
      .transpose(1, 2)
      .reshape([n, width]);
  }

  /** Quarters of the rows one after the other, as the steps of a sequence. */
  steps(i: number, x: Tensor, cell: (projected: Tensor, state: Tensor) => Tensor): Tensor {
    const projected = this.linears[i]!.forward(x);
    const rows = x.shape[0]! / 4;
    const states: Tensor[] = [];
    let state = x.narrow(0, 0, rows);
    for (let step = 0; step < 4; step++) {
      state = cell(projected.narrow(0, step * rows, rows), this.linears[i]!.forward(state));
      states.push(state);
    }
    return cat(states);
  }
}

/** Views of views: columns of the rows of one step. */
function gated(projected: Tensor, state: Tensor): Tensor {
  const half = projected.shape[1]! / 2;
  const [a, b] = [projected.narrow(1, 0, half), projected.narrow(1, half, half)];
  const gate = a.add(state.narrow(1, half, half)).sigmoid();
  return cat([gate.mul(state.narrow(1, 0, half)), b.sub(gate)], 1);
}

function train(shape: Shape, sliced: boolean | null) {
  seed(11);
  const model = new Net(shape);
  const optimizer = shape.adam
    ? new optim.AdamW(model.parameters(), { lr: 1e-3 })
    : new optim.SGD(model.parameters(), { lr: 0.05, momentum: 0.9, weightDecay: 1e-3 });
  const step = (x: Tensor, labels: Tensor): Tensor => {
    const loss = crossEntropy(model.forward(x), labels);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const captured =
    sliced === null
      ? null
      : new Captured(step as Captured['fn'], { memory: { slices: sliced, prefer: 'bytes' } });
  const eager = refcounted(step);
  const x = randn([shape.batch, shape.width]);
  const labels = tensor(
    Array.from({ length: shape.batch }, (_, i) => (i * 7) % 5),
    { dtype: 'int32' },
  );
  const losses: number[] = [];
  let peak = 0;
  for (let i = 0; i < 3; i++) {
    memory.reset('cpu');
    const before = memory.stats('cpu').allocated;
    const loss = captured ? (captured.call(undefined, [x, labels]) as Tensor) : eager(x, labels);
    peak = memory.stats('cpu').peakAllocated - before;
    losses.push(loss.itemSync());
    loss.dispose();
  }
  const forward = captured?.parts.at(-1)?.stages?.planned.forward;
  const parameters = [...model.parameters()].map((own) => [...own.dataSync()]);
  for (const each of [x, labels, optimizer, model]) each.dispose();
  const inParts = forward?.steps.some(({ op }) => /^add.*[A-Z].*_$|^narrow$/.test(op.op.name));
  // The sum of a block that began in an earlier slice comes first.
  const splits = forward?.steps.some(({ op: { op, attrs } }) => {
    return op.name === 'cat' && (attrs.sizes as readonly number[])[0] === 1;
  });
  return { losses, parameters, peak, predicted: forward?.predicted, inParts, splits };
}

function holds(
  batches: readonly number[],
  seed: number,
  numRuns: number,
  isCounted: 'inParts' | 'splits',
): void {
  const before = memory.stats('cpu').allocated;
  let counted = 0;
  const shapes = fc.record({
    layers: fc.array(fc.constantFrom(...kinds), { minLength: 2, maxLength: 7 }),
    batch: fc.constantFrom(...batches),
    width: fc.constantFrom(36, 64, 100),
    adam: fc.boolean(),
  });
  fc.assert(
    fc.property(shapes, (shape) => {
      const [eager, own] = [train(shape, null), train(shape, true)];
      expect(own.losses).toEqual(eager.losses);
      expect(own.parameters).toEqual(eager.parameters);
      expect(own.peak).toBe(own.predicted!.peakBytes);
      expect(own.peak).toBeGreaterThanOrEqual(own.predicted!.lowerBoundBytes);
      if (own[isCounted]) counted++;
    }),
    { numRuns, seed },
  );
  expect(counted).toBeGreaterThan(3);
  expect(memory.stats('cpu').allocated).toBe(before);
}

it('hold for any layers, sizes of the batch and optimizers', () => {
  holds([64, 128, 192, 256, 320, 512], 20, 8, 'inParts');
}, 60_000);

it('hold where slices end within the blocks of sums', () => {
  holds([72, 200, 328, 600, 712, 1048], 21, 14, 'splits');
}, 60_000);
