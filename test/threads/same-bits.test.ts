/** Results have the same bits with 1, 2, 3 and 4 threads, below and above the size from which work is shared. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pool } from '../../runtime/device/cpu/threads/pool.ts';
import { poisoning } from '../../runtime/memory/poison.ts';
import {
  avgPool2d,
  conv2d,
  crossEntropy,
  type DType,
  init,
  interpolate,
  layerNorm,
  maxPool2d,
  memory,
  nn,
  noGrad,
  optim,
  rand,
  randn,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
  where,
} from '../../src/index.ts';

const threads = [2, 3, 4];

beforeAll(async () => {
  await init('cpu', { threads: 4 });
  // What a part left out would else still be there from the run before.
  poisoning.active = true;
});

afterAll(() => {
  pool.threads = 1;
  poisoning.active = false;
});

function bitsOf(results: readonly Tensor[]): Uint8Array[] {
  return results.map((result) => {
    const { buffer, byteOffset, byteLength } = result.dataSync();
    return new Uint8Array(buffer, byteOffset, byteLength);
  });
}

/** The bits of what `compute` returns, on so many threads. */
function on(count: number, compute: () => Tensor | readonly Tensor[]): Uint8Array[] {
  pool.threads = count;
  seed(7);
  return tidy(() => {
    const results = compute();
    return bitsOf(Array.isArray(results) ? results : [results as Tensor]);
  }) as unknown as Uint8Array[];
}

function expectSameBits(compute: () => Tensor | readonly Tensor[]): void {
  const alone = on(1, compute);
  for (const count of threads) {
    const together = on(count, compute);
    together.forEach((bytes, i) => {
      expect(Buffer.compare(bytes, alone[i]!)).toBe(0);
    });
  }
}

/** Gradients of all inputs, and the result. */
function withGradients(inputs: readonly Tensor[], f: (...inputs: Tensor[]) => Tensor): Tensor[] {
  const leaves = inputs.map((input) => input.detach().requiresGrad_());
  const out = f(...leaves);
  out.backward(randn(out.shape));
  return [out, ...leaves.map((leaf) => leaf.grad!)];
}

const small = 1000;
const large = 150_001;

function numbers(size: number, dtype: DType): Tensor {
  if (dtype === 'int32' || dtype === 'uint8') return rand([size]).mul(200).to(dtype);
  if (dtype === 'bool') return rand([size]).gt(0.5);
  return randn([size]).to(dtype);
}

describe('threads/the same bits', () => {
  const floats: readonly DType[] = ['float32', 'float64', 'float16', 'bfloat16'];
  const dtypes: readonly DType[] = [...floats, 'int32', 'uint8'];

  for (const size of [small, large]) {
    it.each(dtypes)(`pointwise ops of ${size} elements of %s`, (dtype) => {
      expectSameBits(() => {
        const [x, y] = [numbers(size, dtype), numbers(size, dtype)];
        return [x.add(y), x.mul(y).sub(x), x.gt(y), where(x.gt(y), x, y), x.to('float32')];
      });
    });

    it.each(floats)(`functions of ${size} elements of %s`, (dtype) => {
      expectSameBits(() => {
        const x = numbers(size, dtype);
        const positive = x.abs().add(0.1);
        return [x.exp(), positive.log(), x.tanh(), x.mul(40).sin(), positive.pow(1.7), x.atan()];
      });
    });

    it(`the error function of ${size} elements`, () => {
      expectSameBits(() => {
        const [x, y] = [randn([size]).mul(3), randn([size]).mul(3).to('float64')];
        return [x.erf(), y.erf(), x.erfc(), y.erfc(), x.gelu()];
      });
    });

    it(`large arguments of sin among small ones, of ${size} elements`, () => {
      expectSameBits(() => randn([size]).mul(15_000).sin());
    });

    it.each(['float32', 'float64'] as const)(`reductions of ${size} elements of %s`, (dtype) => {
      expectSameBits(() => {
        const x = numbers(size, dtype);
        return [
          x.sum(),
          x.max(),
          x.min(),
          x.mul(1e-3).add(1).prod(),
          x.narrow(0, 3, size - 7).sum(),
        ];
      });
    });

    it(`reductions of ${size} elements of int32`, () => {
      expectSameBits(() => {
        const x = numbers(size, 'int32');
        return [x.sum(), x.max(), x.min(), x.gt(100).sum(), x.gt(100).any()];
      });
    });

    it(`random numbers, ${size} of them`, () => {
      expectSameBits(() => [rand([size]), randn([size]), rand([3]), randn([size])]);
    });
  }

  it.each([
    [[64, 33, 70], [0]],
    [[64, 33, 70], [1]],
    [[64, 33, 70], [2]],
    [
      [64, 33, 70],
      [0, 2],
    ],
    [
      [20, 8, 31, 31],
      [0, 2, 3],
    ],
    [[4, 70_000], [1]],
    [[70_000, 3], [0]],
    [[2000, 160], [0]],
  ] as const)('sums of %j over %j', (shape, dims) => {
    expectSameBits(() => {
      const x = randn([...shape]);
      return [x.sum([...dims]), x.max(), x.transpose(0, 1).sum([...dims]), x.mean([...dims])];
    });
  });

  it.each([
    [300, 500],
    [3, 200_000],
    [9, 17, 2001],
    [12, 40, 30, 23],
  ])('layouts of %i × …', (...shape) => {
    expectSameBits(() => {
      const x = randn(shape);
      const order = shape.map((_, d) => d).reverse();
      const turned = x.permute(order);
      const row = randn([shape.at(-1)!]);
      const column = randn([shape[0]!, ...shape.slice(1).map(() => 1)]);
      const part = x.narrow(-1, 1, shape.at(-1)! - 3);
      return [
        turned.contiguous(),
        turned.exp(),
        x.add(row),
        x.mul(column),
        part.neg(),
        part.add(1),
      ];
    });
  });

  it.each([
    [20_000, 16],
    [700, 300],
    [5, 40_000],
    [2, 200_000],
  ])('sorted rows, %i × %i', (...shape) => {
    expectSameBits(() => {
      const x = randn(shape);
      const columns = rand(shape).mul(200).to('int32').transpose(0, 1).contiguous();
      return [...x.sort(), ...x.topk(7), ...columns.sort(0, true), x.to('float64').argsort()];
    });
  });

  it('writes that overlap what they read', () => {
    expectSameBits(() => {
      const x = randn([large]);
      noGrad(() => x.narrow(0, 1, large - 1).copy_(x.narrow(0, 0, large - 1)));
      return x;
    });
  });

  it.each([
    [1, 700, 900],
    [900, 700, 1],
    [7, 300, 400],
    [130, 300, 260],
    [513, 64, 129],
    [64, 1000, 64],
  ])('products of %i × %i × %i', (m, k, n) => {
    expectSameBits(() => {
      const [a, b] = [randn([m, k]), randn([k, n])];
      const [at, bt] = [randn([k, m]).t(), randn([n, k]).t()];
      return [a.matmul(b), at.matmul(b), a.matmul(bt), at.matmul(bt)];
    });
  });

  it.each([
    [700, 900],
    [77, 13],
    [256, 8],
    [257, 1],
    [0, 5],
  ])('one row times %i × %i is that row of several', (k, n) => {
    const rows = (x: Tensor) => x.narrow(0, 0, 1).contiguous();
    for (const turned of [false, true]) {
      tidy(() => {
        const [a, b] = [randn([3, k]), turned ? randn([n, k]).t() : randn([k, n])];
        const [one] = bitsOf([rows(a).matmul(b)]);
        const [several] = bitsOf([rows(a.matmul(b))]);
        const [column] = bitsOf([b.t().matmul(rows(a).t())]);
        expect(Buffer.compare(one!, several!)).toBe(0);
        expect(Buffer.compare(column!, several!)).toBe(0);
      });
    }
  });

  it('products of batches, with gradients', () => {
    expectSameBits(() =>
      withGradients([randn([6, 5, 70, 40]), randn([5, 40, 65])], (a, b) => a.matmul(b)),
    );
  });

  it.each([
    [1000, 100],
    [40, 9001],
    [70_000, 3],
  ])('softmax, norms and cross entropy of %i × %i', (rows, columns) => {
    expectSameBits(() => {
      const x = randn([rows, columns]);
      const labels = rand([rows]).mul(columns).to('int32');
      const [weight, bias] = [randn([columns]), randn([columns])];
      return [
        ...withGradients([x], (own) => own.softmax(-1)),
        ...withGradients([x], (own) => own.logSoftmax(-1)),
        ...withGradients([x], (own) => crossEntropy(own, labels)),
        ...withGradients([x, weight, bias], (own, w, b) => layerNorm(own, [columns], w, b)),
      ];
    });
  });

  it('batch norm, group norm and pooling', () => {
    expectSameBits(() => {
      const batch = new nn.BatchNorm2d(12);
      const group = new nn.GroupNorm(3, 12);
      const x = randn([16, 12, 33, 31]);
      return [
        ...withGradients([x], (own) => batch.forward(own)),
        ...withGradients([x], (own) => group.forward(own)),
        ...withGradients([x], (own) => maxPool2d(own, 2)),
        ...withGradients([x], (own) => avgPool2d(own, 3, { stride: 2, padding: 1 })),
        ...withGradients([x], (own) => interpolate(own, { scaleFactor: 2, mode: 'bilinear' })),
        ...withGradients([x], (own) => maxPool2d(own, 3, { stride: 2, padding: 1 })),
        batch.weight!.grad!,
        group.weight!.grad!,
      ];
    });
  });

  it.each([
    { channels: [16, 32], groups: 1, stride: 1, padding: 1, size: 33 },
    { channels: [24, 24], groups: 24, stride: 1, padding: 1, size: 40 },
    { channels: [32, 32], groups: 4, stride: 2, padding: 1, size: 31 },
    { channels: [3, 40], groups: 1, stride: 2, padding: 0, size: 45 },
    { channels: [64, 160], groups: 1, stride: 2, padding: 1, size: 9 },
  ])('convolutions: %j', ({ channels: [from, to], groups, stride, padding, size }) => {
    expectSameBits(() => {
      const x = randn([6, from!, size, size]);
      const w = randn([to!, from! / groups, 3, 3]);
      return withGradients([x, w], (own, weight) =>
        conv2d(own, weight, undefined, { stride, padding, groups }),
      );
    });
  });

  it('captured training steps', () => {
    const steps = (compile: boolean) => () => {
      const layers = [new nn.Conv2d(3, 24, 3, { padding: 1 }), new nn.Linear(24 * 256, 300)];
      const [conv, linear] = layers as [nn.Conv2d, nn.Linear];
      const optimizer = new optim.Adam([...conv.parameters(), ...linear.parameters()]);
      const step = (x: Tensor, labels: Tensor): Tensor => {
        const loss = crossEntropy(linear.forward(conv.forward(x).gelu().flatten(1)), labels);
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      };
      const run = compile ? toStatic(step) : step;
      const x = randn([16, 3, 16, 16]);
      const labels = rand([16]).mul(300).to('int32');
      const losses = [0, 1, 2].map(() => run(x, labels));
      return [...losses, ...conv.parameters(), ...linear.parameters()].map((each) => each.detach());
    };
    expectSameBits(steps(true));
    const [captured, eager] = [on(3, steps(true)), on(2, steps(false))];
    expect(captured.map((bytes) => Buffer.from(bytes).toString('base64'))).toEqual(
      eager.map((bytes) => Buffer.from(bytes).toString('base64')),
    );
  });

  it('memory counts do not depend on threads', () => {
    const peak = (count: number): number => {
      pool.threads = count;
      memory.reset();
      const before = memory.stats('cpu').allocated;
      tidy(
        () =>
          void randn([500, 500])
            .matmul(randn([500, 500]))
            .to('float16')
            .exp()
            .sum(),
      );
      return memory.stats('cpu').peakAllocated - before;
    };
    expect(threads.map(peak)).toEqual(threads.map(() => peak(1)));
  });

  it('work is shared at all', () => {
    pool.threads = 4;
    expect(pool.shares(1e6)).toBe(true);
    expect(tensor([1]).itemSync()).toBe(1);
  });
});
