/** Bitwise functions and common divisors of integers. */

import * as integerPairsKernels from '../../device/cpu/scalar/integer-pairs.ts';
import { named } from '../../device/kernel-op.ts';
import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { DTypeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { dtypes, promote } from '../../spec/dtype.ts';
import { broadcastShapes } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { logicalNot } from '../arithmetic/logic.ts';
import { bind1 } from '../core/bind.ts';
import { expand } from '../core/broadcast.ts';
import { cast } from '../core/cast.ts';
import { inferBinary, joinedBy, type Operand } from '../core/promotion.ts';
import { fullLike } from '../movement/ranges.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { defineOp } from '../record/define-op.ts';
import { expectOperand, expectTensors } from '../record/expect-tensors.ts';
import { expectWhole } from '../record/positional.ts';

/** The functions that are also defined for booleans. */
const bitwise: readonly string[] = ['and', 'or', 'xor'];
const names = ['and', 'or', 'xor', 'shiftLeft', 'shiftRight', 'gcd', 'lcm'] as const;

export const integerPairsOp = defineOp({
  name: 'integerPairs',
  operands: { x: 'data', y: 'data' },
  attrs: { fn: { oneOf: names } },
  infer: (inputs, { fn }) => {
    expectIntegers('a function of integers', bitwise.includes(fn as string), ...inputs);
    return inferBinary('a function of integers')(inputs);
  },
  kernel: named('integerPairs', integerPairsKernels.integerPairs),
  flat: true,
});

function expectIntegers(name: string, ofBools: boolean, ...operands: readonly TensorMeta[]): void {
  const fits = ({ dtype }: TensorMeta) => !dtypes[dtype].floating && (ofBools || dtype !== 'bool');
  const wrong = operands.find((each) => !fits(each));
  if (!wrong) return;
  throw new DTypeError({
    what: `${name}: not a tensor of integers`,
    given: formatSpec(wrong),
    expected: ofBools ? 'int32, uint8 or bool' : 'int32 or uint8',
    remedy: "cast it: x.to('int32')",
  });
}

/** A function of two tensors, or of a tensor and an integer. */
function ofIntegers(name: string, fn: (typeof names)[number], ofBools: boolean) {
  return (x: Tensor, y: Operand): Tensor =>
    naming(name, () => {
      expectTensors(name, x);
      expectOperand(name, y);
      expectIntegers(name, ofBools, x);
      if (isNumber(y)) expectWhole(name, 'other', y);
      return tidy(() => {
        const other = isNumber(y) ? fullLike(x, y, { shape: [], dtype: joinedBy(x.dtype, y) }) : y;
        expectIntegers(name, ofBools, other);
        const dtype = promote(x.dtype, other.dtype);
        const shape = broadcastShapes(x.shape, other.shape, name);
        const operands = [x, other].map((each) => expand(cast(each, dtype), shape));
        return bind1(integerPairsOp, operands, { fn });
      });
    });
}

/** The bits set in both; for booleans, whether both are true. */
export const bitwiseAnd = ofIntegers('bitwiseAnd', 'and', true);
/** The bits set in either; for booleans, whether either is true. */
export const bitwiseOr = ofIntegers('bitwiseOr', 'or', true);
/** The bits set in exactly one; for booleans, whether exactly one is true. */
export const bitwiseXor = ofIntegers('bitwiseXor', 'xor', true);
/** x · 2^y, truncated to the dtype's bits; 0 if y is negative or exceeds them. */
export const bitwiseLeftShift = ofIntegers('bitwiseLeftShift', 'shiftLeft', false);
/** x / 2^y, rounded down; 0 or −1 if y is negative or exceeds the dtype's bits. */
export const bitwiseRightShift = ofIntegers('bitwiseRightShift', 'shiftRight', false);
/** The greatest common divisor; 0 if both are 0. */
export const gcd = ofIntegers('gcd', 'gcd', false);
/** The least common multiple; 0 if either is 0. */
export const lcm = ofIntegers('lcm', 'lcm', false);

/** Inverts all bits; for booleans, the logical complement. */
export function bitwiseNot(x: Tensor): Tensor {
  return naming('bitwiseNot', () => {
    expectTensors('bitwiseNot', x);
    expectIntegers('bitwiseNot', true, x);
    if (x.dtype === 'bool') return logicalNot(x);
    return bitwiseXor(x, x.dtype === 'uint8' ? 255 : -1);
  });
}
