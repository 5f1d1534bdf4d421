import {
  crossEntropy,
  type Device,
  deviceGuard,
  keep,
  optim,
  randn,
  seed,
  type Tensor,
  tensor,
  tidy,
} from '../../../../runtime/index.ts';
import { toStatic } from '../../../../src/to-static.ts';
import { smallModels } from './small-models.ts';

export interface Training {
  readonly losses: number[];
  /** Distinct sums of allocated bytes after steps, all but the first. */
  readonly allocated: number[];
  readonly reserved: number[];
  /** `live()` after the second step and after the last one. */
  readonly live: readonly number[];
  /** Bytes of the last step above those before it. */
  readonly peak: number;
  /** The same, as its program predicts it; 0 without one. */
  readonly predictedPeak: number;
  /** Graph breaks and functions that couldn't be captured. */
  readonly breaks: number;
}

/** Steps of Adam on one batch; the same seed draws the same start on every device. */
export async function train(
  device: Device,
  name: keyof typeof smallModels,
  capture: boolean,
  steps: number,
  live: () => number = () => 0,
): Promise<Training> {
  const { make, shape } = smallModels[name];
  const { counter } = device.allocator;
  seed(5);
  const [x, labels, model] = deviceGuard(
    device,
    () => [randn(shape), tensor(new Int32Array([0, 3, 1, 2, 3, 0, 1, 2])), make()] as const,
  );
  const optimizer = new optim.Adam(model.parameters(), { lr: 0.02 });
  const step = (input: Tensor, target: Tensor): Tensor => {
    const loss = crossEntropy(model.forward(input), target);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const captured = toStatic(step);
  const run = capture ? captured : step;
  let peak = 0;
  const losses: number[] = [];
  const [allocated, reserved, living] = [new Set<number>(), new Set<number>(), [] as number[]];
  for (let i = 0; i < steps; i++) {
    const before = counter.allocated;
    counter.reset();
    const loss = keep(tidy(() => run(x, labels)));
    peak = counter.peakAllocated - before;
    losses.push(await loss.item());
    loss.dispose();
    if (i > 0) {
      allocated.add(counter.allocated);
      reserved.add(counter.reserved);
    }
    if (i === 1 || i === steps - 1) living.push(live());
  }
  const peaks = captured
    .programs()
    .map(({ stages }) => stages?.planned.forward.predicted.peakBytes ?? 0);
  optimizer.dispose();
  model.dispose();
  x.dispose();
  labels.dispose();
  // Of the whole step, which the first one can't be: its optimizer has no state yet.
  const predictedPeak = Math.max(0, ...peaks);
  const { breaks, fallbacks } = captured.stats();
  const bytes = { allocated: [...allocated], reserved: [...reserved], peak, predictedPeak };
  return { losses, ...bytes, live: living, breaks: breaks.length + fallbacks.length };
}
