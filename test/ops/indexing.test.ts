import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { indexPut, slice } from '../../runtime/ops/advanced-indexing/advanced-index.ts';
import { embedding, oneHot } from '../../runtime/ops/advanced-indexing/embedding.ts';
import { maskedSelect, nonzero } from '../../runtime/ops/indexing/data-dependent.ts';
import { where } from '../../runtime/ops/pointwise/pointwise.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { choice, expectedIndex, itemOf, sizes, valid } from './cases/index-choices.ts';
import { allocated, spread, tensor } from './eager.ts';

const int = (...values: number[]) => tensor(Int32Array.from(values));
const counting = (...shape: number[]) =>
  tensor(
    Float32Array.from({ length: sizeOf(shape) }, (_, i) => i),
    { shape },
  );
const list = (x: Tensor) => [...x.dataSync()];

describe('index', () => {
  it('gives the elements that the rules of PyTorch name, for any mixture of items', () => {
    fc.assert(
      fc.property(fc.array(choice, { maxLength: 5 }).filter(valid), (choices) => {
        tidy(() => {
          const x = counting(...sizes);
          let dim = 0;
          const items = choices.map((own) => itemOf(own, own.kind === 'new' ? 1 : sizes[dim++]!));
          const { shape, elements } = expectedIndex(choices);
          const result = x.index(...items);
          expect(result.shape).toEqual(shape);
          expect(list(result)).toEqual(elements);
        });
      }),
      { seed: 4, numRuns: 500 },
    );
  });

  it('writes those very elements with indexPut_', () => {
    fc.assert(
      fc.property(fc.array(choice, { maxLength: 4 }).filter(valid), (choices) => {
        tidy(() => {
          const x = counting(...sizes);
          let dim = 0;
          const items = choices.map((own) => itemOf(own, own.kind === 'new' ? 1 : sizes[dim++]!));
          const { elements } = expectedIndex(choices);
          expect(x.indexPut_(items, -1)).toBe(x);
          const expected = Array.from({ length: 36 }, (_, i) => (elements.includes(i) ? -1 : i));
          expect(list(x)).toEqual(expected);
        });
      }),
      { seed: 5, numRuns: 200 },
    );
  });

  it('takes masks over one dimension and over several', () => {
    tidy(() => {
      const x = counting(2, 3);
      const mask = tensor([
        [true, false, true],
        [false, true, false],
      ]);
      expect(list(x.index(mask))).toEqual([0, 2, 4]);
      expect(list(x.index('...', tensor([true, false, true])))).toEqual([0, 2, 3, 5]);
      expect(x.index(tensor([false, false])).shape).toEqual([0, 3]);
      x.indexPut_([mask], 9);
      expect(list(x)).toEqual([9, 1, 9, 3, 9, 5]);
      x.indexPut_([tensor([false, true])], -1);
      expect(list(x)).toEqual([9, 1, 9, -1, -1, -1]);
      x.indexPut_([x.eq(9)], tensor([7, 8]));
      expect(list(x)).toEqual([7, 1, 8, -1, -1, -1]);
    });
  });

  it('takes slices as objects, arrays and helper, and an ellipsis', () => {
    tidy(() => {
      const x = counting(2, 5);
      const expected = [1, 3, 6, 8];
      expect(list(x.index([], { start: 1, end: -1, step: 2 }))).toEqual(expected);
      expect(list(x.index([], [1, -1, 2]))).toEqual(expected);
      expect(list(x.index('...', slice(1, -1, 2)))).toEqual(expected);
      expect(x.index(null, '...', null).shape).toEqual([1, 2, 5, 1]);
    });
  });

  it('accumulates equal places only when it is asked to', () => {
    tidy(() => {
      const x = counting(3);
      expect(list(indexPut(x, [int(1, 1, 0)], tensor([5, 7, 9])))).toEqual([9, 7, 2]);
      x.indexPut_([int(1, 1, 0)], tensor([5, 7, 9]), { accumulate: true });
      expect(list(x)).toEqual([9, 13, 2]);
    });
  });

  it('assigns to slices through views', () => {
    tidy(() => {
      const x = counting(2, 3);
      x.index([], 1).copy_(tensor([-1, -2]));
      x.index(1, slice(0, null, 2)).fill_(8);
      expect(list(x)).toEqual([0, -1, 2, 8, -2, 8]);
      x.indexPut_([0], tensor([3, 3, 3]), { accumulate: true });
      expect(list(x)).toEqual([3, 2, 5, 8, -2, 8]);
    });
  });

  it('is differentiable in the tensor that is written to and in the values', () => {
    tidy(() => {
      const x = counting(4).requiresGrad_();
      const value = tensor([10, 20], { requiresGrad: true });
      const y = x.mul(2);
      y.indexPut_([int(3, 0)], value);
      y.mul(tensor([1, 2, 3, 4]))
        .sum()
        .backward();
      expect(list(x.grad!)).toEqual([0, 4, 6, 0]);
      expect(list(value.grad!)).toEqual([4, 1]);
      x.grad!.dispose();
      value.grad!.dispose();
    });
  });

  it('gives everything back', () => {
    const before = allocated();
    const x = counting(3, 4);
    const index = int(2, 0);
    const own = allocated();
    const y = x.index(slice(1), index);
    expect(allocated() - own).toBe(64);
    noGrad(() => x.indexPut_([index], 1));
    y.dispose();
    expect(allocated()).toBe(own);
    x.dispose();
    index.dispose();
    expect(allocated()).toBe(before);
  });
});

describe('shapes that depend on data', () => {
  it('nonzero lists coordinates in row-major order', () => {
    tidy(() => {
      const found = nonzero(
        tensor([
          [0, 2],
          [-1, 0],
        ]).transpose(0, 1),
      );
      expect(found.shape).toEqual([2, 2]);
      expect(found.dtype).toBe('int32');
      expect(list(found)).toEqual([0, 1, 1, 0]);
      expect(nonzero(tensor(3)).shape).toEqual([1, 0]);
      expect(nonzero(tensor([0, 0])).shape).toEqual([0, 1]);
    });
  });

  it('where of a test alone gives one vector per dimension', () => {
    tidy(() => {
      const [rows, columns] = where(
        tensor([
          [0, 2],
          [-1, 0],
        ]),
      );
      expect([list(rows!), list(columns!)]).toEqual([
        [0, 1],
        [1, 0],
      ]);
    });
  });

  it('maskedSelect broadcasts both', () => {
    tidy(() => {
      const x = counting(2, 1);
      const chosen = maskedSelect(x, tensor([true, false, true]));
      expect(list(chosen)).toEqual([0, 0, 1, 1]);
    });
  });
});

describe('an index out of range is refused, and nothing stays allocated', () => {
  const cases: Readonly<Record<string, readonly [(x: Tensor) => Tensor, string]>> = {
    gather: [(x) => x.gather(1, int(3, 0).reshape([1, 2])), 'index 3 in dimension 1 of size 3'],
    scatter: [(x) => x.scatter(0, int(-1).reshape([1, 1]), 0), 'index -1 in dimension 0 of size 2'],
    indexSelect: [(x) => x.indexSelect(1, int(1, -1)), 'index -1 in dimension 1 of size 3'],
    indexAdd: [(x) => x.indexAdd(0, int(2), counting(1, 3)), 'index 2 in dimension 0 of size 2'],
    'index by two tensors': [(x) => x.index(int(0, 1), int(1, -4)), 'index -4 in dimension 1'],
    take: [(x) => x.take(int(6)), 'index 6 in dimension 0 of size 6'],
    'indexing by numbers': [(x) => x.index(0, 3), 'index 3 in dimension 0 of f32[3]'],
  };
  for (const [name, [run, given]] of Object.entries(cases)) {
    it(name, () => {
      const x = counting(2, 3);
      const before = allocated();
      expect(() => tidy(() => run(x))).toThrow(given);
      expect(allocated()).toBe(before);
      x.dispose();
    });
  }

  it('indices that are no integers, masks that do not fit, too many indices', () => {
    tidy(() => {
      const x = counting(2, 3);
      expect(() => x.index(tensor([0.5]))).toThrow('indices must be integers');
      expect(() => x.index(tensor([true, false, true]))).toThrow("the mask doesn't fit");
      expect(() => x.index(0, 0, 0)).toThrow('more indices than dimensions');
      // Also where nothing is written.
      const none = tensor([false, false]);
      expect(() => x.indexPut_([none], counting(4))).toThrow("the shapes don't broadcast");
      expect(() => x.indexPut_([none], counting(2, 3))).toThrow("the shapes don't broadcast");
      expect(list(x.indexPut_([none], counting(3)))).toEqual([0, 1, 2, 3, 4, 5]);
      expect(() => x.gather(0, int(0))).toThrow("the shapes don't fit together");
    });
  });
});

describe('embedding and oneHot', () => {
  it('a padding row gets no gradient', () => {
    tidy(() => {
      const weight = counting(3, 2).requiresGrad_();
      const rows = embedding(weight, int(1, 2, 1, 0), { paddingIdx: -2 });
      expect(list(rows)).toEqual([2, 3, 4, 5, 2, 3, 0, 1]);
      rows.sum().backward();
      expect(list(weight.grad!)).toEqual([1, 1, 0, 0, 1, 1]);
      weight.grad!.dispose();
      expect(() => embedding(weight, int(0), { paddingIdx: 3 })).toThrow('no such row for padding');
    });
  });

  it('oneHot has a 1 at each index', () => {
    tidy(() => {
      const hot = oneHot(int(2, 0), 3);
      expect([hot.dtype, hot.shape, list(hot)]).toEqual(['int32', [2, 3], [0, 0, 1, 1, 0, 0]]);
      expect(() => oneHot(int(3), 3)).toThrow('index 3 in dimension 1 of size 3');
      expect(oneHot(int(1, 0)).toArraySync()).toEqual([
        [0, 1],
        [1, 0],
      ]);
      expect(oneHot(int()).shape).toEqual([0, 0]);
    });
  });
});

it('takeAlongDim counts negative indices from the end, with their gradients', () => {
  tidy(() => {
    const x = counting(2, 3).requiresGrad_();
    const places = int(-1, 0, 2, -3).reshape([2, 2]);
    const taken = x.takeAlongDim(places, 1);
    expect(list(taken)).toEqual([2, 0, 5, 3]);
    expect(list(x.takeAlongDim(int(-1, 1)))).toEqual([5, 1]);
    taken
      .mul(tensor([1, 2, 3, 4], { shape: [2, 2] }))
      .sum()
      .backward();
    expect(list(x.grad!)).toEqual([2, 0, 1, 4, 0, 3]);
    expect(() => x.takeAlongDim(int(-4, 0).reshape([2, 1]), 1)).toThrow('an index is out of range');
  });
});

describe('forms in place', () => {
  it('write over their first operand, also through a view', () => {
    tidy(() => {
      const x = counting(2, 3);
      const column = int(2, 0).reshape([2, 1]);
      expect(list(x.scatter_(1, column, -1))).toEqual([0, 1, -1, -1, 4, 5]);
      x.select(0, 1).scatterAdd_(0, int(0, 0), tensor([1, 2]));
      expect(list(x)).toEqual([0, 1, -1, 2, 4, 5]);
      expect(list(x.indexAdd_(1, int(1), tensor([[10], [20]])))).toEqual([0, 11, -1, 2, 24, 5]);
      expect(list(x.indexCopy_(0, int(0), tensor([[7, 8, 9]])))).toEqual([7, 8, 9, 2, 24, 5]);
      expect(list(x.indexFill_(1, int(1), 0))).toEqual([7, 0, 9, 2, 0, 5]);
      expect(list(x.maskedFill_(x.eq(0), -5))).toEqual([7, -5, 9, 2, -5, 5]);
    });
  });

  it('are part of the graph for results, and refused for leaves', () => {
    tidy(() => {
      const x = counting(3).requiresGrad_();
      expect(() => x.indexFill_(0, int(1), 0)).toThrow('a write in place to a leaf');
      const y = x.mul(2);
      y.indexFill_(0, int(1), 0).sum().backward();
      expect(list(x.grad!)).toEqual([2, 0, 2]);
      x.grad!.dispose();
    });
  });
});

describe('views of strided tensors', () => {
  it('every indexing op reads the elements, not the memory', () => {
    tidy(() => {
      const x = tensor(spread([4, 3]), { shape: [4, 3] });
      const strided = x.transpose(0, 1).slice(1, 0, null, 2);
      const plain = strided.clone();
      const index = int(0, 1, 1, 0, 1, 1).reshape([2, 3]).transpose(0, 1);
      const ops: ((own: Tensor) => Tensor)[] = [
        (own) => own.gather(1, index),
        (own) => own.scatter(1, index, own),
        (own) => own.scatterAdd(1, index, own),
        (own) => own.indexSelect(0, int(2, 2)),
        (own) => own.index(int(2, 0), int(1, 1)),
        (own) => own.sort(0)[0],
        (own) => own.topk(1, 0)[1],
        (own) => own.flip([0, 1]),
        (own) => own.roll(1, 0),
        (own) => own.unfold(0, 2, 1),
        (own) => own.diagonal(),
        (own) => own.tril(),
        (own) => own.repeat([2, 2]),
        (own) => own.take(int(4, -1)),
      ];
      for (const op of ops) expect(list(op(strided))).toEqual(list(op(plain)));
    });
  });
});
