/** How a fused kernel is divided into loops: by the length of its chains, and by the values that pass between loops. */

import { describe, expect, it } from 'vitest';
import { segmentsOf } from '../../runtime/device/cpu/fused/segments.ts';
import { type KernelBody, splitParts } from '../../runtime/device/cpu/fused/split-parts.ts';
import type { FusedOperand } from '../../runtime/ops/expr/fused-body.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import type { DType } from '../../src/index.ts';

const part = (index: number): FusedOperand => ({ part: index });
const operand: FusedOperand = { operand: 0 };

/** Each op with its operands; the last is the result. */
function bodyOf(
  dtype: DType,
  ops: readonly (readonly [name: string, ...FusedOperand[]])[],
): KernelBody {
  const parts = ops.map(([name, ...operands]) => {
    const { kernel } = opNamed(name);
    if (kernel.kind !== 'pointwise') throw new Error(`${name} has no scalar function`);
    return { expr: kernel.expr, operands, dtype };
  });
  return splitParts({ parts, results: [parts.length - 1], writes: [], shape: [1] } as never, [
    dtype,
  ]);
}

const loops = (body: KernelBody): number => segmentsOf(body).length;

const chain = (length: number): (readonly [string, ...FusedOperand[]])[] =>
  Array.from({ length }, (_, i) => ['mul', i === 0 ? operand : part(i - 1), operand] as const);

describe('the loops of a fused kernel', () => {
  it('are one for a short chain, and several for a long one', () => {
    expect(loops(bodyOf('float32', chain(3)))).toBe(1);
    expect(loops(bodyOf('float32', chain(12)))).toBeGreaterThan(1);
  });

  it('are one for an op with one long function, whatever is before it', () => {
    for (const name of ['gelu', 'silu', 'sigmoid', 'erf', 'exp', 'tanh']) {
      expect([name, loops(bodyOf('float32', [[name, operand]]))]).toEqual([name, 1]);
      const after = bodyOf('float32', [
        ['neg', operand],
        [name, part(0)],
      ]);
      expect([name, loops(after)]).toEqual([name, 1]);
    }
  });

  it('are two for two long functions', () => {
    expect(
      loops(
        bodyOf('float32', [
          ['exp', operand],
          ['tanh', part(0)],
        ]),
      ),
    ).toBe(2);
  });

  it('are one for each op of halves, whose conversions make chains long', () => {
    expect(loops(bodyOf('float16', chain(3)))).toBe(3);
    expect(loops(bodyOf('bfloat16', chain(3)))).toBe(3);
  });

  it('are not divided where several values would pass', () => {
    const wide = [
      ['mul', operand, operand],
      ['add', operand, operand],
      ['sub', part(0), part(1)],
      ['mul', part(2), part(0)],
      ['add', part(3), part(1)],
      ['sub', part(4), part(0)],
      ['mul', part(5), part(1)],
      ['add', part(6), part(0)],
      ['sub', part(7), part(1)],
    ] as const;
    expect(loops(bodyOf('float32', wide))).toBe(1);
  });
});
