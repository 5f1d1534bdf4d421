/** Gradients that come to a captured function in any layout are summed in the order of eager execution. */

import { describe, expect, it } from 'vitest';
import { randn, seed, type Tensor, tidy, toStatic } from '../../src/index.ts';

const [rows, columns] = [33, 70];

/** The last ops of backward see the gradient as it comes. */
const functions: Readonly<Record<string, (x: Tensor, a: Tensor, b: Tensor) => Tensor>> = {
  'sums over columns': (x, _a, b) => x.mul(1.1).add(b),
  'sums over rows': (x, a) => x.mul(1.1).add(a),
  'sums over a view': (x, _a, b) => x.transpose(0, 1).mul(1.1).add(b.transpose(0, 1)),
  'sums over both': (x, a, b) => x.mul(b).add(a).add(b).add(a.mean()),
};

const losses: Readonly<Record<string, (y: Tensor) => Tensor>> = {
  'one number, repeated': (y) => y.mean(),
  'one row, repeated': (y) => y.sum(0).mul(y.sum(0).detach()).sum(),
  'one column, repeated': (y) => y.sum(1).mul(y.sum(1).detach()).sum(),
  transposed: (y) => y.transpose(0, 1).contiguous().mul(0.3).tanh().sum(),
  'twice, in two layouts': (y) => y.mean().add(y.mul(y).sum()),
};

function gradients(fn: (...given: Tensor[]) => Tensor, loss: (y: Tensor) => Tensor): number[][] {
  seed(3);
  const given = [[rows, columns], [columns], [rows, 1]].map((shape) => randn(shape));
  for (const own of given) own.requiresGrad_();
  tidy(() => loss(fn(...given)).backward());
  return given.map((own) => {
    const data = own.grad ? [...own.grad.contiguous().dataSync()] : [];
    own.grad?.dispose();
    own.dispose();
    return data as number[];
  });
}

describe.each(Object.entries(functions))('run-program/gradient strides: %s', (_name, fn) => {
  it.each(Object.entries(losses))('a gradient that is %s', (_name, loss) => {
    const eager = gradients(fn as (...given: Tensor[]) => Tensor, loss);
    const captured = toStatic((x: Tensor, a: Tensor, b: Tensor) => fn(x, a, b));
    for (let call = 0; call < 2; call++) {
      expect(gradients(captured as (...given: Tensor[]) => Tensor, loss)).toEqual(eager);
    }
  });
});
