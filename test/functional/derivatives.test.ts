import { describe, expect, it } from 'vitest';
import {
  grad,
  hessian,
  hvp,
  jacobian,
  jvp,
  memory,
  randn,
  type Tensor,
  tensor,
  tidy,
  toStatic,
  vjp,
  vmap,
} from '../../src/index.ts';

const vector = (...values: number[]) => tensor(values, { dtype: 'float64' });
const f = (x: Tensor, y: Tensor) => x.pow(3).sum().mul(y.exp());
const cubes = (x: Tensor) => x.pow(3).sum();
const close = (own: Tensor, expected: readonly number[]) => {
  const values = [...own.dataSync()];
  expect(values.length).toBe(expected.length);
  values.forEach((value, i) => void expect(value).toBeCloseTo(expected[i]!, 9));
};

const x = vector(1, 2, 3);
const y = vector(2, -1);
const [e2, e1] = [Math.exp(2), Math.exp(-1)];

describe('derivatives of functions', () => {
  it('jacobian has an entry for each element of output and input', () => {
    const [byX, byY] = jacobian(f, [x, y]);
    close(byX!, [3 * e2, 12 * e2, 27 * e2, 3 * e1, 12 * e1, 27 * e1]);
    close(byY!, [36 * e2, 0, 0, 36 * e1]);
    const both = jacobian((a: Tensor) => [a.mul(2), a.sum()], x);
    expect(both.map(({ shape }) => shape)).toEqual([[3, 3], [3]]);
    const constant = jacobian((a: Tensor) => a.detach(), x);
    close(constant, Array(9).fill(0));
    const matrix = tensor([[1, 2]], { dtype: 'float64' });
    expect(jacobian((a: Tensor) => a.t(), matrix).shape).toEqual([2, 1, 1, 2]);
  });

  it('hessian, and its product with a vector', () => {
    close(hessian(cubes, x), [6, 0, 0, 0, 12, 0, 0, 0, 18]);
    const mixed = hessian((a: Tensor, b: Tensor) => a.mul(b).sum(), [x, x]);
    close(mixed[0]![1]!, [1, 0, 0, 0, 1, 0, 0, 0, 1]);
    const [value, product] = hvp(cubes, x, vector(1, 0, 2));
    close(value, [36]);
    close(product, [6, 0, 36]);
  });

  it('vjp and jvp multiply from the left and from the right', () => {
    const [outputs, [left]] = vjp(f, [x, y], vector(1, 2));
    close(outputs, [36 * e2, 36 * e1]);
    const weight = e2 + 2 * e1;
    close(left!, [3 * weight, 12 * weight, 27 * weight]);
    const [, right] = jvp(f, [x, y], [vector(1, 0, 1), vector(1, 0)]);
    close(right, [30 * e2 + 36 * e2, 30 * e1]);
    const [, slope] = vjp(cubes, x);
    close(slope, [3, 12, 27]);
  });

  it('are differentiated further with createGraph', () => {
    const w = vector(1, 2, 3).requiresGrad_();
    const trace = jacobian((a: Tensor) => a.pow(3), w, { createGraph: true }).sum();
    close(grad(trace, w)[0]!, [6, 12, 18]);
    expect(jacobian(cubes, w).requiresGrad).toBe(false);
    const [, along] = jvp(cubes, w, vector(1, 1, 1), { createGraph: true });
    close(grad(along, w)[0]!, [6, 12, 18]);
  });

  it('vmap calls the function for each entry', () => {
    const rows = randn([4, 3]);
    const dots = vmap((a: Tensor, b: Tensor) => a.dot(b));
    expect(dots(rows, rows).tolist()).toEqual(
      Array.from({ length: 4 }, (_, i) => rows.select(0, i).dot(rows.select(0, i)).itemSync()),
    );
    const scale = vmap((a: Tensor, k: number) => [a.mul(k), a.sum()], {
      inDims: [1, null],
      outDims: 0,
    });
    expect(scale(rows, 2).map(({ shape }) => shape)).toEqual([[3, 4], [3]]);
    expect(vmap((a: Tensor) => a, { inDims: -1, outDims: 1 })(rows).tolist()).toEqual(
      rows.tolist(),
    );
  });

  it('are one program, to the bit, and keep nothing', () => {
    const all = (a: Tensor, b: Tensor) => [
      ...jacobian(f, [a, b]),
      hessian(cubes, a),
      ...[jvp(f, [a, b], [a, b]), vjp(cubes, a), hvp(cubes, a, a)].flat(2),
      vmap((row: Tensor) => row.exp().sum())(a.outer(b)),
    ];
    const captured = toStatic(all, { fullGraph: true });
    const before = memory.stats('cpu').allocated;
    const bits = (fn: typeof all) => tidy(() => fn(x, y).map((own) => own.tolist()));
    for (let i = 0; i < 2; i++) expect(bits(captured)).toEqual(bits(all));
    expect(memory.stats('cpu').allocated).toBe(before);
  });

  it('say what does not fit', () => {
    expect(() => hessian((a: Tensor) => a.mul(2), x)).toThrow(/one number as its value/);
    expect(() => vjp((a: Tensor) => a.mul(2), x)).toThrow(/not a vector of the right shapes/);
    expect(() => jvp(cubes, x, y)).toThrow(/not a vector of the right shapes/);
    expect(() => jacobian((() => 1) as never, x)).toThrow(/tensor/);
    expect(() => vmap((a: Tensor, b: Tensor) => a.add(b))(x, y)).toThrow(
      /no dimension of one size/,
    );
    expect(() => vmap(3 as never)).toThrow(/vmap/);
  });
});
