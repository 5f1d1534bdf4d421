import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { grad } from '../../runtime/backward/grad.ts';
import {
  selectScatter,
  sliceScatter,
} from '../../runtime/ops/advanced-indexing/regions-replaced.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, expectClose, spread, type Tensor, tensor } from '../ops/eager.ts';

const leaf = (shape: readonly number[], salt = 0) =>
  tensor(spread(shape, salt), { shape, requiresGrad: true });
const weights = (shape: readonly number[]) => tensor(spread(shape, 9), { shape });
const values = (x: Tensor) => [...x.dataSync()];

/** Gradients for x and w of what `body` answers, weighed. */
function gradients(body: (x: Tensor, w: Tensor) => Tensor): number[][] {
  return tidy(() => {
    const [x, w] = [leaf([3, 4]), leaf([4], 1)];
    const out = body(x, w);
    const found = grad(out.mul(weights(out.shape)).sum(), [x, w], { allowUnused: true });
    return found.map((own, i) => (own ? values(own) : new Array<number>(i === 0 ? 12 : 4).fill(0)));
  });
}

interface Case {
  readonly inPlace: (y: Tensor, w: Tensor) => Tensor;
  readonly outOfPlace: (y: Tensor, w: Tensor) => Tensor;
}

const row = (y: Tensor, i: number, own: Tensor) => selectScatter(y, own, 0, i);

const cases: Readonly<Record<string, Case>> = {
  'the base sees a write through a view': {
    inPlace: (y, w) => {
      y.select(0, 1).mul_(w);
      return y;
    },
    outOfPlace: (y, w) => row(y, 1, y.select(0, 1).mul(w)),
  },
  'the view itself goes on behind its write': {
    inPlace: (y, w) => {
      const view = y.select(0, 1);
      view.mul_(w);
      return view.mul(2).add(y.sum());
    },
    outOfPlace: (y, w) => {
      const own = y.select(0, 1).mul(w);
      return own.mul(2).add(row(y, 1, own).sum());
    },
  },
  'another view sees it, too': {
    inPlace: (y, w) => {
      const [column, flat] = [y.select(1, 2), y.reshape([12])];
      y.select(0, 1).mul_(w);
      return column.sum().add(flat.mul(flat));
    },
    outOfPlace: (y, w) => {
      const own = row(y, 1, y.select(0, 1).mul(w));
      const flat = own.reshape([12]);
      return own.select(1, 2).sum().add(flat.mul(flat));
    },
  },
  'views see a write to the base': {
    inPlace: (y, w) => {
      const view = y.select(0, 2);
      y.mul_(w);
      return view;
    },
    outOfPlace: (y, w) => y.mul(w).select(0, 2),
  },
  'a view of a view, transposed and strided': {
    inPlace: (y, w) => {
      const view = y.transpose(0, 1).slice(0, 0, 4, 2).select(1, 1);
      view.add_(w.narrow(0, 0, 2)).exp_();
      return y;
    },
    outOfPlace: (y, w) => {
      const own = y.select(0, 1);
      const part = own
        .slice(0, 0, 4, 2)
        .add(w.narrow(0, 0, 2))
        .exp();
      return row(y, 1, sliceScatter(own, part, 0, 0, 4, 2));
    },
  },
  'an expanded view sees the write': {
    inPlace: (y, w) => {
      const repeated = y.select(0, 0).unsqueeze(0).expand([3, 4]);
      y.select(0, 0).mul_(w);
      return repeated;
    },
    outOfPlace: (y, w) => y.select(0, 0).mul(w).unsqueeze(0).expand([3, 4]),
  },
  'a write that forgets what was there': {
    inPlace: (y, w) => {
      y.select(0, 0).fill_(3);
      y.select(0, 1).copy_(w);
      return y;
    },
    outOfPlace: (y, w) => row(row(y, 0, w.mul(0).add(3)), 1, w),
  },
  'several writes, one behind the other': {
    inPlace: (y, w) => {
      const [a, b] = [y.select(0, 0), y.narrow(0, 0, 2)];
      a.mul_(w);
      b.mul_(2);
      a.add_(b.select(0, 1));
      return y.mul(y);
    },
    outOfPlace: (y, w) => {
      const first = row(y, 0, y.select(0, 0).mul(w));
      const second = sliceScatter(first, first.narrow(0, 0, 2).mul(2), 0, 0, 2);
      const third = row(second, 0, second.select(0, 0).add(second.select(0, 1)));
      return third.mul(third);
    },
  },
};

describe('a write in place where views share memory has the gradients of the functional form', () => {
  for (const [name, { inPlace, outOfPlace }] of Object.entries(cases)) {
    it(name, () => {
      const before = allocated();
      const actual = gradients((x, w) => inPlace(x.mul(2), w));
      const expected = gradients((x, w) => outOfPlace(x.mul(2), w));
      for (const [i, own] of expected.entries()) expectClose(actual[i]!, own, `gradient ${i}`);
      expect(allocated()).toBe(before);
    });
  }

  it('a buffer of constants takes rows that have gradients', () => {
    tidy(() => {
      const w = leaf([4]);
      const buffer = tensor(new Float32Array(12), { shape: [3, 4] });
      for (let i = 0; i < 3; i++) buffer.select(0, i).copy_(w.mul(i + 1));
      expect([buffer.requiresGrad, buffer.isLeaf]).toEqual([true, false]);
      const [dw] = grad(buffer.sum(), w);
      expect(values(dw!)).toEqual([6, 6, 6, 6]);
    });
  });

  it('gradients of gradients go through it', () => {
    const second = (write: (y: Tensor) => Tensor) =>
      tidy(() => {
        const x = leaf([2, 3]);
        const out = write(x.mul(x));
        const [dx] = grad(out.mul(out).sum(), x, { createGraph: true });
        return values(grad(dx!.mul(weights([2, 3])).sum(), x)[0]!);
      });
    const actual = second((y) => {
      y.select(0, 0).mul_(y.select(0, 1).clone()).exp_();
      return y;
    });
    const expected = second((y) => row(y, 0, y.select(0, 0).mul(y.select(0, 1)).exp()));
    expectClose(actual, expected, 'second gradient', { relative: 1e-4 });
  });

  it('what was saved before a write is still noticed', () => {
    tidy(() => {
      const y = leaf([2, 2]).mul(1);
      const view = y.select(0, 0);
      const saved = view.mul(view);
      y.select(0, 0).add_(1);
      expect(() => saved.sum().backward()).toThrow('was changed in place');
    });
  });

  it('windows that overlap see a write, in one dimension and in two', () => {
    const windows: Record<string, (y: Tensor) => Tensor> = {
      'of one dimension': (y) => y.unfold(1, 3, 1),
      'of two': (y) => y.unfold(0, 2, 1).unfold(1, 2, 1),
      repeated: (y) => y.unfold(1, 2, 1).unsqueeze(0).expand([2, 3, 3, 2]),
      'of parts': (y) => y.flatten().slice(0, 1, null, 2).unfold(0, 4, 1),
    };
    for (const [name, view] of Object.entries(windows)) {
      const seen = (whenMade: 'before' | 'after') =>
        gradients((x, w) => {
          const y = x.mul(2);
          const before = view(y);
          y.select(0, 1).mul_(w);
          const shown = whenMade === 'before' ? before : view(y);
          return shown.mul(shown);
        });
      const [actual, expected] = [seen('before'), seen('after')];
      for (const [i, own] of actual.entries()) expectClose(own, expected[i]!, name);
    }
  });
});

/** A part of a matrix of 4×4, in both forms. */
interface Part {
  readonly view: (y: Tensor) => Tensor;
  readonly replace: (y: Tensor, part: Tensor) => Tensor;
}

const partOf = fc.oneof(
  fc.record({ dim: fc.integer({ min: 0, max: 1 }), index: fc.integer({ min: 0, max: 3 }) }).map(
    ({ dim, index }): Part => ({
      view: (y) => y.select(dim, index),
      replace: (y, part) => selectScatter(y, part, dim, index),
    }),
  ),
  fc
    .record({
      dim: fc.integer({ min: 0, max: 1 }),
      start: fc.integer({ min: 0, max: 2 }),
      step: fc.integer({ min: 1, max: 2 }),
    })
    .map(
      ({ dim, start, step }): Part => ({
        view: (y) => y.slice(dim, start, 4, step),
        replace: (y, part) => sliceScatter(y, part, dim, start, 4, step),
      }),
    ),
  fc.constant<Part>({ view: (y) => y, replace: (_y, part) => part }),
);

const stepOf = fc.record({
  part: partOf,
  write: fc.constantFrom('mul', 'add', 'scale', 'neg', 'fill' as const),
});

type Step = Readonly<{ part: Part; write: 'mul' | 'add' | 'scale' | 'neg' | 'fill' }>;

function written({ write }: Step, part: Tensor, w: Tensor): Tensor {
  if (write === 'mul') return part.mul(w);
  if (write === 'add') return part.add(w);
  if (write === 'scale') return part.mul(0.7);
  return write === 'neg' ? part.neg() : part.mul(0).add(0.5);
}

function writeInto({ write }: Step, part: Tensor, w: Tensor): void {
  if (write === 'mul') part.mul_(w);
  else if (write === 'add') part.add_(w);
  else if (write === 'scale') part.mul_(0.7);
  else if (write === 'neg') part.neg_();
  else part.fill_(0.5);
}

it('random writes through random views: values, gradients and bytes', () => {
  const before = allocated();
  fc.assert(
    fc.property(fc.array(stepOf, { minLength: 1, maxLength: 6 }), (steps) => {
      const run = (body: (y: Tensor, w: Tensor) => Tensor) =>
        tidy(() => {
          const [x, w] = [leaf([4, 4]), leaf([], 3)];
          const out = body(x.mul(1.5), w);
          const found = grad(out.mul(weights([4, 4])).sum(), [x, w], { allowUnused: true });
          return [values(out), ...found.map((own) => (own ? values(own) : null))];
        });
      const actual = run((y, w) => {
        const views = steps.map(({ part }) => part.view(y));
        // Half of the views are made before any write.
        steps.forEach((step, i) => {
          writeInto(step, i % 2 === 0 ? views[i]! : step.part.view(y), w);
        });
        return y;
      });
      const expected = run((y, w) =>
        steps.reduce(
          (own, step) => step.part.replace(own, written(step, step.part.view(own), w)),
          y,
        ),
      );
      actual.forEach((own, i) => {
        const other = expected[i] ?? null;
        const zeros = (list: number[] | null) => list?.every((value) => value === 0) ?? true;
        if (own && other)
          expectClose(own, other, `result ${i}`, { relative: 1e-4, absolute: 1e-5 });
        else expect(zeros(own) && zeros(other)).toBe(true);
      });
    }),
    { numRuns: 60 },
  );
  expect(allocated()).toBe(before);
});

describe('a view whose base is released after a write', () => {
  const bodies: Readonly<Record<string, (y: Tensor, release: () => void) => Tensor>> = {
    'has the gradient of what it shows': (y, release) => {
      const view = y.select(0, 1);
      y.mul_(2);
      release();
      return view.mul(view);
    },
    'has it once other views are released too': (y, release) => {
      const [view, other] = [y.select(1, 1), y.select(0, 1)];
      other.mul_(2);
      release();
      other.dispose();
      return view.mul(view);
    },
    'is the base of views of its own': (y, release) => {
      const view = y.narrow(0, 0, 2);
      y.mul_(2);
      release();
      const deeper = view.select(1, 2);
      const sum = deeper.mul(deeper).sum();
      return sum.add(view.sum());
    },
  };
  for (const [name, body] of Object.entries(bodies)) {
    it(name, () => {
      const before = allocated();
      const found = [true, false].map((released) =>
        gradients((x) => {
          const y = x.mul(1.5);
          return body(y, () => {
            if (released) y.dispose();
          });
        }),
      );
      expect(found[0]).toEqual(found[1]);
      expect(allocated()).toBe(before);
    });
  }

  it('is not written while others show its memory; the error says that it was disposed', () => {
    tidy(() => {
      const y = leaf([3, 4]).mul(1.5);
      const views = [y.select(0, 1), y.select(1, 2)];
      y.dispose();
      expect(() => views[0]!.mul_(2)).toThrow('views of a disposed tensor');
    });
  });
});
