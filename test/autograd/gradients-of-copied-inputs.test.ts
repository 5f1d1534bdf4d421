/** Gradients of gradients where the program copies its strided inputs, and keeps views of the copies. */

import { expect, it } from 'vitest';
import { grad, type Tensor, toStatic } from '../../src/index.ts';
import { weights } from '../trace/same-as-eager.ts';

/** Inputs of shape [2, 3] with strides of every kind. */
const layouts: Readonly<Record<string, (w: Tensor) => Tensor>> = {
  expanded: (w) => w.sum(0).expand([2, 3]),
  transposed: (w) => w.reshape([3, 2]).t(),
  narrowed: (w) => w.repeat([1, 2]).narrow(1, 2, 3),
  'overlapping windows': (w) => w.reshape([6]).narrow(0, 0, 4).unfold(0, 3, 1),
};

const bodies: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  'a product with its transpose': (x) => x.t().matmul(x),
  'rows of it, multiplied': (x) => x.select(0, 0).mul(x.select(0, 1)).mul(x),
  'a view of a view': (x) =>
    x
      .t()
      .narrow(0, 1, 2)
      .mul(x.narrow(1, 0, 2).t()),
};

function gradientsOf(body: (x: Tensor) => Tensor, layout: (w: Tensor) => Tensor): number[][] {
  const w = weights([2, 3], 1);
  const y = body(layout(w.mul(2)));
  const found = [y];
  for (let order = 0; order < 3; order++) {
    const last = found.at(-1)!;
    found.push(grad(last.mul(last).sum(), [w], { createGraph: true })[0]!);
  }
  return found.map((each) => [...each.dataSync()]);
}

it.each(Object.keys(layouts))('of inputs that are %s', (layout) => {
  for (const [name, body] of Object.entries(bodies)) {
    const expected = gradientsOf(body, layouts[layout]!);
    for (const memory of ['cleaned', 'planned', { stridedInputs: false }] as const) {
      const found = gradientsOf(toStatic(body, { memory }), layouts[layout]!);
      expect({ name, memory, found }).toEqual({ name, memory, found: expected });
    }
  }
});
