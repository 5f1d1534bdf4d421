import { afterAll, expect, it } from 'vitest';
import {
  customFunction,
  data,
  grad,
  hessian,
  hvp,
  jacobian,
  jvp,
  nn,
  type Tensor,
  tensor,
  vjp,
  vmap,
} from '../../src/index.ts';

/** As many results as there are inputs, outputs or parts: an index is checked by the compiler, not asserted. */
const [x, y] = [tensor(2, { requiresGrad: true }), tensor(3, { requiresGrad: true })];
afterAll(() => {
  for (const own of [x, y]) own.dispose();
});

const product = (a: Tensor, b: Tensor) => a.mul(b);
const both = (a: Tensor, b: Tensor) => [a.mul(b), a.add(b)] as const;
type Two = [Tensor, Tensor];
type Row = [number, number];
const numbers = (list: readonly Tensor[]) => list.map((own) => own.itemSync());

it('derivatives have one entry per input and output', () => {
  const gradients: Two = grad(product(x, y), [x, y]);
  expect(numbers(gradients)).toEqual([3, 2]);
  const [one]: [Tensor] = grad(product(x, y), x);
  expect(one.itemSync()).toBe(3);
  const unused: [Tensor | null, Tensor | null] = grad(x.mul(2), [x, y], { allowUnused: true });
  expect(unused[1]).toBeNull();
  const any: Tensor[] = grad(product(x, y), [x, y] as Tensor[]);
  const perInput: Two = jacobian(product, [x, y]);
  expect(numbers(perInput)).toEqual(numbers(any));
  const perOutput: Tensor = jacobian((a) => a.mul(2), x);
  expect(perOutput.itemSync()).toBe(2);
  const [firsts, seconds]: [Two, Two] = jacobian(both, [x, y]);
  expect([...firsts, ...seconds].map((own) => own.itemSync())).toEqual([3, 2, 1, 1]);
  const [, [crossed]]: [Two, Two] = hessian(product, [x, y]);
  expect(crossed.itemSync()).toBe(1);
  const [, products]: [Tensor, Two] = hvp(product, [x, y], [x, y]);
  const [, pulled]: [Tensor, Two] = vjp(product, [x, y]);
  const [, pushed]: [unknown, Two] = jvp(both, [x, y], [x, y]);
  expect([products, pulled, pushed].map((list) => list.length)).toEqual([2, 2, 2]);
});

it('mapped and custom functions have the results of the function, and a module those of its forward', () => {
  const rows = tensor([1, 2]);
  const mapped: Two = vmap((a: Tensor, b: Tensor) => [a.add(b), a])(rows, rows);
  expect(mapped[0].toArraySync()).toEqual([2, 4]);
  const twice = customFunction({
    forward: (_, a: Tensor) => [a.mul(2), a.mul(3)],
    backward: (_, first) => first!,
  });
  const [double, triple] = twice(rows);
  expect(double.add(triple).toArraySync()).toEqual([5, 10]);
  const out: Tensor = nn.functionalCall(new nn.Linear(2, 3), {}, [rows]);
  expect(out.shape).toEqual([3]);
});

it('a data set is split into as many parts as there are lengths', () => {
  const set: data.Dataset<Row> = { length: 4, get: (i) => [i, i] };
  const [train, test] = data.randomSplit(set, [3, 1]);
  expect([train.length, test.length]).toEqual([3, 1]);
  const lengths: number[] = [3, 1];
  const splits: data.Subset<Row>[] = data.randomSplit(set, lengths);
  expect(splits.map((own) => own.length)).toEqual(lengths);
});
