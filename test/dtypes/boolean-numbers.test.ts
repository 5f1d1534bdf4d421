import { describe, expect, it } from 'vitest';
import { breakGraph, full, type Tensor, tensor, toStatic, where } from '../../src/index.ts';

const mask = () =>
  tensor([
    [true, false, true],
    [false, false, true],
  ]);
const index = () => tensor([[1], [2]], { dtype: 'int32' });
const float = () =>
  tensor([
    [1, 2, 3],
    [0, 1, 0],
  ]);
const int = () =>
  tensor(
    [
      [1, 2, 3],
      [0, 1, 0],
    ],
    { dtype: 'int32' },
  );

/** As in PyTorch a boolean counts as 0 or 1, and changes no dtype. */
const cases: Readonly<Record<string, readonly [run: (flag: boolean) => Tensor, expected: string]>> =
  {
    'scatter into booleans': [
      (flag) => mask().scatter(1, index(), flag),
      'bool true,true,true,false,false,true',
    ],
    'scatter_ into floats': [(flag) => float().scatter_(1, index(), flag), 'float32 1,1,3,0,1,1'],
    'maskedFill of booleans': [
      (flag) => mask().maskedFill(float().eq(0), flag),
      'bool true,false,true,true,false,true',
    ],
    'maskedFill_ of integers': [(flag) => int().maskedFill_(mask(), flag), 'int32 1,2,1,0,1,1'],
    'where of two booleans': [
      (flag) => where(mask(), flag, false),
      'bool true,false,true,false,false,true',
    ],
    'where of a boolean and a number': [(flag) => where(mask(), flag, 2), 'int32 1,2,1,2,2,1'],
    'where of a boolean and booleans': [
      (flag) => where(mask(), float().eq(0), flag),
      'bool false,true,false,true,true,true',
    ],
    'where of a boolean and floats': [
      (flag) => where(mask(), flag, float()),
      'float32 1,2,1,0,1,1',
    ],
    'eq and ne': [
      (flag) => float().eq(flag).logicalAnd(mask().ne(!flag)),
      'bool true,false,false,false,false,false',
    ],
    full: [(flag) => full([2], flag), 'bool true,true'],
    'full of another dtype': [(flag) => full([2], flag, { dtype: 'float32' }), 'float32 1,1'],
  };

const text = (x: Tensor) => `${x.dtype} ${[x.toArraySync()].flat(3).join()}`;

describe('booleans in the place of numbers', () => {
  it.each(Object.entries(cases))('%s', (_, [run, expected]) => {
    expect(text(run(true))).toBe(expected);
    const captured = toStatic(run, { fullGraph: true });
    expect([true, false, true].map((flag) => text(captured(flag)))).toEqual(
      [true, false, true].map((flag) => text(run(flag))),
    );
    expect(captured.stats().graphs).toBe(2);
    const natively = toStatic((flag: boolean) => {
      breakGraph();
      return run(flag);
    });
    expect(text(natively(true))).toBe(expected);
  });
});

describe('numbers that equal nothing, or no other', () => {
  const uses: Readonly<Record<string, (value: number) => Tensor>> = {
    full: (value) => full([2], value),
    'where of booleans': (value) => where(mask(), mask(), value),
    'where of integers': (value) => where(mask(), int(), value),
    'where of two numbers': (value) => where(mask(), 1, value),
    'maskedFill of floats': (value) => float().maskedFill(mask(), value),
  };

  it.each(Object.keys(uses))('%s: float32', (name) => {
    for (const value of [Number.NaN, Infinity, -Infinity, 0.5]) {
      const x = uses[name]!(value);
      expect(x.dtype).toBe('float32');
      expect([x.toArraySync()].flat(3).some((each) => Object.is(each, value))).toBe(true);
    }
  });
});
