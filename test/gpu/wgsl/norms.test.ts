/** Norms of rows, their gradients and those of weights: against the CPU, eagerly and captured. */

import { describe, expect, it } from 'vitest';
import {
  batchNorm,
  cat,
  grad,
  groupNorm,
  instanceNorm,
  layerNorm,
  randn,
  rmsNorm,
  seed,
  type Tensor,
} from '../../../runtime/index.ts';
import { toStatic } from '../../../src/to-static.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectParity } from '../parity.ts';

type Norm = (x: Tensor, weight: Tensor, bias: Tensor) => Tensor;

interface Case {
  readonly shape: readonly number[];
  /** Of weight and bias. */
  readonly weights: readonly number[];
  readonly norm: Norm;
  /** Ops of the standardized groups in a captured step. */
  readonly kernels: number;
}

const last = (shape: readonly number[]): Case => ({
  shape,
  weights: [shape.at(-1)!],
  norm: (x, weight, bias) => layerNorm(x, [shape.at(-1)!], weight, bias),
  kernels: 3,
});

const batches = (shape: readonly number[]): Case => ({
  shape,
  weights: [shape[1]!],
  norm: (x, weight, bias) => batchNorm(x, null, null, { weight, bias, training: true }),
  kernels: 3,
});

const cases: Readonly<Record<string, Case>> = {
  'short rows': last([5, 7]),
  'rows of 32': last([3, 4, 32]),
  'long rows': last([3, 1500]),
  'many rows': last([700, 33]),
  'one row': last([1, 40]),
  'rows of one': last([6, 1]),
  'no rows': { ...last([0, 8]), kernels: 2 },
  'two dimensions': {
    shape: [4, 6, 9],
    weights: [6, 9],
    norm: (x, weight, bias) => layerNorm(x, [6, 9], weight, bias),
    kernels: 3,
  },
  'without weights': {
    shape: [6, 50],
    weights: [1],
    norm: (x, weight, bias) => layerNorm(x, [50]).mul(weight).add(bias),
    kernels: 2,
  },
  'root mean square': {
    shape: [6, 50],
    weights: [50],
    norm: (x, weight, bias) => rmsNorm(x, [50], weight).add(bias),
    kernels: 3,
  },
  groups: {
    shape: [3, 8, 5],
    weights: [8],
    norm: (x, weight, bias) => groupNorm(x, 4, weight, bias),
    kernels: 2,
  },
  instances: {
    shape: [3, 4, 6, 5],
    weights: [4],
    norm: (x, weight, bias) => instanceNorm(x, { weight, bias }),
    kernels: 2,
  },
  'a strided operand': {
    shape: [9, 40],
    weights: [9],
    norm: (x, weight, bias) => layerNorm(x.t(), [9], weight, bias),
    kernels: 3,
  },
  batches: batches([6, 4, 5]),
  'batches of images': batches([5, 3, 9, 8]),
  'large batches of images': batches([9, 2, 23, 24]),
  'batches of features': batches([40, 7]),
  'batches without weights': {
    shape: [6, 4, 5],
    weights: [1],
    norm: (x, weight, bias) => batchNorm(x, null, null, { training: true }).mul(weight).add(bias),
    kernels: 2,
  },
};

describe.skipIf(skipGpu)('gpu/wgsl/norms', () => {
  const gpu = gpuForTests();

  /** The result, and gradients of all operands, in one row. */
  const all =
    (norm: Norm) =>
    (x: Tensor, weight: Tensor, bias: Tensor): Tensor => {
      const out = norm(x, weight, bias);
      const loss = out.mul(out.detach().add(1)).sum();
      const gradients = grad(loss, [x, weight, bias]);
      return cat([out, ...gradients].map((each) => each.reshape([-1])));
    };

  describe.each(Object.entries(cases))('%s', (_name, { shape, weights, norm, kernels }) => {
    const operands = (): [Tensor, Tensor, Tensor] => {
      seed(3);
      const leaf = (of: readonly number[], by: number) =>
        randn([...of])
          .mul(by)
          .add(0.5)
          .detach()
          .requiresGrad_();
      return [leaf(shape, 2), leaf(weights, 1), leaf(weights, 1)];
    };

    it.each(['eagerly', 'captured'])('as on the CPU, %s', async (how) => {
      const before = gpu().computedOnCpu.size;
      const tolerance = { relative: 2e-4, absolute: 2e-4 };
      const captured = toStatic(all(norm), { fullGraph: true });
      const run = how === 'captured' ? captured : all(norm);
      await expectParity(gpu(), () => run(...operands()), tolerance);
      expect(gpu().computedOnCpu.size).toBe(before);
      if (how === 'eagerly') return;
      const onGpu = captured.programs().at(-1)!.stages!.planned.forward;
      const found = onGpu.steps.filter(({ op }) => op.op.name.startsWith('standardize'));
      expect(found).toHaveLength(kernels);
    });
  });

  it('another number of rows compiles nothing', async () => {
    const run = async (rows: number) => {
      seed(rows);
      const operands = [randn([rows, 40]), randn([40]), randn([40])].map((each) => each.to(gpu()));
      const [x, weight, bias] = operands.map((each) => each.detach().requiresGrad_());
      layerNorm(x!, [40], weight, bias).sum().backward();
      await x!.grad!.data();
    };
    await run(128);
    const { compiled } = gpu().kernelStats;
    await run(130);
    expect(gpu().kernelStats.compiled - compiled).toBe(0);
  });
});
