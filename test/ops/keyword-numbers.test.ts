import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../src/index.ts';

type Form = (x: Tensor, ...args: readonly unknown[]) => Tensor;

const method =
  (name: string, ...operands: readonly Tensor[]): Form =>
  (x, ...args) => {
    const own = x.clone() as unknown as Record<string, (...given: readonly unknown[]) => Tensor>;
    return own[name]!(...operands, ...args);
  };

/** The first result of a method that has several. */
const first =
  (name: string, ...given: readonly unknown[]): Form =>
  (x, ...args) => {
    const own = x as unknown as Record<string, (...all: readonly unknown[]) => Tensor[]>;
    return own[name]!(...given, ...args)[0]!;
  };

const x = () => tensor([3, -1.5, 0.25, 7], { requiresGrad: true });
const y = tensor([1, 2, -3, 4]);
const z = tensor([0.5, 4, 1, -2]);

function outcome(f: Form, args: readonly unknown[]): unknown {
  const input = x();
  const result = f(input, ...args);
  result.sum().backward();
  return [result.tolist(), input.grad!.tolist()];
}

/** One form by position and the same by keyword. */
const forms: readonly (readonly [string, Form, unknown[], object])[] = [
  ['add', method('add', y), [3], { alpha: 3 }],
  ['add', method('add', y), [1], {}],
  ['sub', method('sub', y), [0.5], { alpha: 0.5 }],
  ['add_', method('add_', y), [-2], { alpha: -2 }],
  ['sub_', method('sub_', y), [2], { alpha: 2 }],
  ['addcmul', method('addcmul', y, z), [0.1], { value: 0.1 }],
  ['addcdiv', method('addcdiv', y, z), [-0.1], { value: -0.1 }],
  ['addcmul_', method('addcmul_', y, z), [0.1], { value: 0.1 }],
  ['addcdiv_', method('addcdiv_', y, z), [-0.1], { value: -0.1 }],
  ['clamp', method('clamp'), [0], { min: 0 }],
  ['clamp', method('clamp'), [null, 1], { max: 1 }],
  ['clamp', method('clamp'), [-1, 2], { min: -1, max: 2 }],
  ['clamp', method('clamp'), [y], { min: y }],
  ['clamp', method('clamp'), [null, y], { max: y }],
  ['clip', method('clip'), [-1, 2], { max: 2, min: -1 }],
  ['clamp_', method('clamp_'), [null, 1], { max: 1 }],
  ['sort', first('sort'), [0, true], { dim: 0, descending: true }],
  ['sort', first('sort'), [0, true], { descending: true, stable: true }],
  ['topk', first('topk', 2), [0, false], { largest: false, sorted: true }],
  ['topk', first('topk', 2), [0], { dim: 0 }],
  ['clamp_', method('clamp_'), [-1, 2], { min: -1, max: 2 }],
];

describe('numbers that PyTorch takes by keyword', () => {
  it.each(forms)('%s takes them in an object, eagerly and captured: %#', (_, f, args, named) => {
    const expected = outcome(f, args);
    expect(outcome(f, [named])).toEqual(expected);
    expect(outcome(toStatic(f, { fullGraph: true }), [named])).toEqual(expected);
  });

  it.each(forms)('%s names an option that does not exist: %#', (name, f) => {
    const owner = name === 'clip' ? 'clamp' : name;
    expect(() => f(x(), { alfa: 2 })).toThrow(
      new RegExp(`^${owner}: no such option\\n +given: +alfa`),
    );
  });

  it('the places of a sort take them, too, and an object may follow the dimension', () => {
    expect(x().argsort({ descending: true }).tolist()).toEqual([3, 0, 2, 1]);
    expect(x().sort(-1, { descending: true })[0].tolist()).toEqual([7, 3, 0.25, -1.5]);
    expect(x().topk(1, -1, { largest: false })[0].tolist()).toEqual([-1.5]);
    expect(() => x().sort({ descending: 'yes' as never })).toThrow('descending has a wrong value');
  });

  it('a value that is no number is named', () => {
    const given = { alpha: 'two' as unknown as number };
    expect(() => x().add(y, given)).toThrow(/^add: alpha is not a number\n +given: +'two'/);
  });

  it('changing numbers stay in one program', () => {
    const f = toStatic((t: Tensor, k: number) => t.add(y, { alpha: k }).clamp({ max: k }));
    for (const k of [2, 3, 4, 5]) {
      expect(f(x(), k).tolist()).toEqual(x().add(y, k).clamp(null, k).tolist());
    }
    expect(f.stats().translations).toBeLessThanOrEqual(2);
  });
});
