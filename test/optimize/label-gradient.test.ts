/** Cross entropy with its gradient takes the memory of its scores once. */

import { describe, expect, it } from 'vitest';
import { dtypes } from '../../runtime/spec/dtype.ts';
import {
  crossEntropy,
  type DType,
  memory,
  randn,
  seed,
  type Tensor,
  tensor,
  toStatic,
} from '../../src/index.ts';

const sizes = [
  [64, 10],
  [33, 257],
  [256, 61],
  [8, 4096],
] as const;
const cases = sizes.flatMap(([rows, classes]) =>
  (['float32', 'float64'] as const).map((dtype) => ({ rows, classes, dtype })),
);
const width = 4;

/** A product, its loss and the gradients; the second call's peak and results. */
function run(rows: number, classes: number, dtype: DType, isCaptured: boolean) {
  seed(7);
  const x = randn([rows, width], { dtype });
  const w = randn([width, classes], { dtype }).requiresGrad_();
  // Some rows have no label.
  const labels = tensor(Int32Array.from({ length: rows }, (_, i) => (i % 5 ? i % classes : -100)));
  const step = () => {
    const loss = crossEntropy(x.matmul(w), labels);
    loss.backward();
    return loss;
  };
  const captured = toStatic(step, { fallback: 'error' });
  const f = isCaptured ? captured : step;
  f().dispose();
  w.grad!.dispose();
  w.grad = null;
  const { allocated } = memory.stats('cpu');
  memory.reset('cpu');
  const loss: Tensor = f();
  const peak = memory.stats('cpu').peakAllocated - allocated;
  const results = [loss.itemSync(), ...w.grad!.dataSync()].map(Number);
  const stages = captured.programs()[0]?.stages;
  for (const each of [loss, w.grad!, w, x, labels]) each.dispose();
  return { results, peak, stages };
}

describe('optimize/label gradient', () => {
  it.each(cases)(
    '$rows x $classes of $dtype: one copy of the scores',
    ({ rows, classes, dtype }) => {
      const eager = run(rows, classes, dtype, false);
      const own = run(rows, classes, dtype, true);
      expect(own.results).toEqual(eager.results);
      expect(own.stages!.passes.labelGradient!.applied).toBe(1);
      expect(own.peak).toBe(own.stages!.planned.forward.predicted.peakBytes);
      const { bytes } = dtypes[dtype];
      const [scores, gradient] = [rows * classes * bytes, width * classes * bytes];
      const blocks = 4 * 64;
      expect(own.peak).toBeLessThanOrEqual(scores + gradient + blocks);
      expect(own.peak).toBeGreaterThanOrEqual(scores + gradient);
      expect(eager.peak).toBeGreaterThan(2 * scores);
    },
  );
});
