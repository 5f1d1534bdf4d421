import { describe, expect, it } from 'vitest';
import { ArgumentError, ones, type Tensor, toStatic } from '../../src/index.ts';

describe('ops/operators', () => {
  const x = ones([2]);
  const misused = x as unknown as number;

  it('an operator on a tensor is an error that names the method', () => {
    expect(() => misused + 1).toThrow(ArgumentError);
    expect(() => misused * 2).toThrow(/x\.mul\(y\)/);
    expect(() => misused > 0).toThrow(/operators\.test\.ts:11:/);
  });

  it('a captured function gives the same error', () => {
    const add = toStatic((t: Tensor) => (t.mul(2) as unknown as number) + 1);
    expect(() => add(x)).toThrow(ArgumentError);
  });

  it('a template prints the tensor', () => {
    expect(`${x}`).toBe('tensor([1., 1.])');
  });
});
