/** Writes in place whose other operands show the memory of the target, and gradients of any order through them. */

import { describe, expect, it } from 'vitest';
import { grad, memory, type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';
import { weights } from '../trace/same-as-eager.ts';

interface Write {
  readonly inPlace: (target: Tensor, operand: Tensor) => Tensor;
  readonly outOfPlace: (target: Tensor, operand: Tensor) => Tensor;
}

const writes: Record<string, Write> = {
  add_: { inPlace: (x, y) => x.add_(y, 2), outOfPlace: (x, y) => x.add(y.mul(2)) },
  mul_: { inPlace: (x, y) => x.mul_(y), outOfPlace: (x, y) => x.mul(y) },
  div_: { inPlace: (x, y) => x.div_(y), outOfPlace: (x, y) => x.div(y) },
  pow_: { inPlace: (x, y) => x.pow_(y), outOfPlace: (x, y) => x.pow(y) },
  addcmul_: {
    inPlace: (x, y) => x.addcmul_(y, y),
    outOfPlace: (x, y) => x.add(y.mul(y)),
  },
  maximum_: { inPlace: (x, y) => x.maximum_(y), outOfPlace: (x, y) => x.maximum(y) },
  copy_: { inPlace: (x, y) => x.copy_(y), outOfPlace: (_, y) => y.mul(1) },
};

/** Rows of the tensor, or the whole, that are written and read. */
const places: Record<string, readonly [target: number | null, operand: number | null]> = {
  'the target itself': [null, null],
  'another view of the same row': [1, 1],
  'another row': [1, 0],
  'a row, for a write to all': [null, 1],
};

const row = (t: Tensor, at: number | null): Tensor => (at === null ? t : t.select(0, at));

/** [2, 3] → [2, 3], with the write in the middle. */
function written(write: Write, [target, operand]: (typeof places)[string], x: Tensor, w: Tensor) {
  const t = x.mul(w);
  write.inPlace(row(t, target), row(t, operand));
  return t;
}

function functional({ outOfPlace }: Write, [target, operand]: (typeof places)[string]) {
  return (x: Tensor, w: Tensor): Tensor => {
    const t = x.mul(w);
    const own = outOfPlace(row(t, target), row(t, operand));
    if (target === null) return own;
    const mask = tensor([0, 0, 0, 1, 1, 1], { shape: [2, 3] });
    return own.mul(mask).add(t.mul(mask.neg().add(1)));
  };
}

type Use = (y: Tensor, w: Tensor) => Tensor;

/** Two functions of w: a loss, and its gradient with a history. */
const uses: Record<string, Use> = {
  'a gradient': (y, w) => y.mul(w),
  'a gradient of a gradient': (y, w) => grad(y.mul(w).sum(), [w], { createGraph: true })[0]!,
};

function gradientOf(body: (x: Tensor, w: Tensor) => Tensor): number[] {
  return tidy(() => {
    const x = tensor([1.5, 2, 0.5, 1.25, 0.75, 3], { shape: [2, 3] });
    const w = weights([2, 3], 3).detach().abs().add(0.5).requiresGrad_();
    const found = grad(body(x, w).sum(), [w])[0]!;
    return [...found.dataSync()];
  });
}

const isRounded = (name: string, [target]: (typeof places)[string], use: Use): boolean =>
  (name === 'div_' || name === 'pow_') && target !== null && use !== uses['a gradient'];

describe.each(Object.entries(writes))('%s', (name, write) => {
  describe.each(Object.entries(places))('with %s', (_place, place) => {
    it.each(Object.entries(uses))('has %s', (_use, use) => {
      const before = memory.stats('cpu').allocated;
      const inPlace = (x: Tensor, w: Tensor) => use(written(write, place, x, w), w);
      const form = functional(write, place);
      const expected = gradientOf((x, w) => use(form(x, w), w));
      const eager = gradientOf(inPlace);
      eager.forEach((value, i) => {
        expect(value, `element ${i}`).toBeCloseTo(expected[i]!, 2);
      });
      const captured = toStatic(inPlace, { strict: true, fallback: 'error' });
      for (let call = 0; call < 2; call++) {
        gradientOf(captured).forEach((value, i) => {
          // A gradient that reads what was written through a view is added to the view's at another place.
          if (isRounded(name, place, use)) expect(value).toBeCloseTo(eager[i]!, 4);
          else expect(value).toBe(eager[i]);
        });
      }
      expect(memory.stats('cpu').allocated).toBe(before);
    });
  });
});
