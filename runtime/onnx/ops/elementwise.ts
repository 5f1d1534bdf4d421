import { where } from '../../ops/pointwise/comparison.ts';
import type { DType } from '../../spec/dtype.ts';
import { Tensor } from '../../tensor/tensor.ts';
import type { NodeFacts, Operator } from '../node/node.ts';
import { missing } from '../node/not-imported.ts';
import {
  broadcastHosts,
  type Host,
  hostOf,
  isHost,
  numberIn,
  type Operand,
  tensorOf,
  type Value,
} from '../values/host.ts';
import { dtypeOf } from '../values/tensors.ts';
import { wrongSetting } from '../values/wrong-setting.ts';

const unary =
  (fn: (x: Tensor) => Tensor): Operator =>
  () =>
  ([x]) =>
    fn(tensorOf(x!));

/** Defines an activation with numeric attributes. */
const activation =
  (fn: (x: Tensor, node: NodeFacts) => Tensor): Operator =>
  (node) =>
  ([x]) =>
    fn(tensorOf(x!), node);

type HostBinary = (x: number, y: number) => number;

/**
 * Defines a binary operator. The result of JavaScript numbers is a JavaScript number; `dtype` defaults to the
 * operands'.
 */
function binary(
  fn: (x: Tensor, y: Tensor) => Tensor,
  host: HostBinary,
  dtype?: DType,
  fractions = host,
): Operator {
  return () =>
    ([x, y]) => {
      if (isHost(x!) && isHost(y!)) {
        const result = dtype ?? resultType(x, y);
        return broadcastHosts([x, y], result, isFractional(x.dtype) ? fractions : host);
      }
      return fn(tensorOf(x!), tensorOf(y!));
    };
}

const resultType = (x: Host, y: Host): DType =>
  isFractional(x.dtype) ? x.dtype : isFractional(y.dtype) ? y.dtype : 'int32';

const isFractional = (dtype: DType): boolean => dtype === 'float32' || dtype === 'float64';

/** Defines a rounding operator: JavaScript numbers used for sizes may be fractions. */
const rounding =
  (fn: (x: Tensor) => Tensor, host: (x: number) => number): Operator =>
  () =>
  ([x]) =>
    isHost(x!) ? hostOf(x.values.map(host), x.shape, x.dtype) : fn(tensorOf(x!));

/** Rounds to the nearest integer, half to even. */
function nearestEven(x: number): number {
  const low = Math.floor(x);
  if (x - low !== 0.5) return Math.floor(x + 0.5);
  return low % 2 === 0 ? low : low + 1;
}

const comparison = (
  fn: (x: Tensor, y: Tensor) => Tensor,
  host: (x: number, y: number) => boolean,
) => binary(fn, (x, y) => Number(host(x, y)), 'bool');

/** Defines an operator with any number of operands. */
function variadic(fn: (x: Tensor, y: Tensor) => Tensor, host: HostBinary): Operator {
  return () => (operands) => {
    const values = operands as readonly Value[];
    if (values.every(isHost)) {
      return values.reduce((x, y) => broadcastHosts([x, y], resultType(x, y), host));
    }
    return values.map(tensorOf).reduce(fn);
  };
}

const isInteger = ({ dtype }: Tensor): boolean => dtype === 'int32' || dtype === 'uint8';

/** Checks an integer divisor. */
function divisor(value: number): number {
  if (value === 0) throw wrongSetting('an integer divided by 0', 'another divisor');
  return value;
}

function raised(base: number, exponent: number): number {
  const power = base ** exponent;
  if (Number.isInteger(power)) return power;
  throw wrongSetting(`${base} to the power of ${exponent}`, 'an integer');
}

/** Integer quotients are rounded toward zero. */
const divide = (x: Tensor, y: Tensor): Tensor =>
  isInteger(x) ? x.div(y, { roundingMode: 'trunc' }) : x.div(y);

const clip: Operator =
  () =>
  ([x, low, high]) => {
    const tensor = tensorOf(x!);
    if (low instanceof Tensor || high instanceof Tensor) {
      const above = low ? tensor.maximum(tensorOf(low)) : tensor;
      return high ? above.minimum(tensorOf(high)) : above;
    }
    const [min, max] = [low, high].map((bound) => (bound ? numberIn(bound) : null));
    return min === null && max === null ? tensor : tensor.clamp(min ?? null, max ?? null);
  };

const cast: Operator = ({ attributes }) => {
  const to = attributes.int('to', 1);
  const dtype = dtypeOf(to, 'Cast');
  const isWhole = [6, 7, 12, 13].includes(to);
  return ([x]) => {
    if (isHost(x!) && isWhole) {
      return hostOf(isFractional(x.dtype) ? x.values.map(Math.trunc) : x.values, x.shape);
    }
    // Not through an integer tensor, which can't represent numbers beyond 32 bits.
    if (isHost(x!) && isFractional(dtype)) return hostOf(x.values, x.shape, dtype);
    if (isHost(x!) && dtype === 'bool') {
      return hostOf(
        x.values.map((value) => Number(value !== 0)),
        x.shape,
        dtype,
      );
    }
    return tensorOf(x!).to(dtype);
  };
};

const select: Operator =
  () =>
  ([test, then, otherwise]) => {
    if (isHost(test!) && isHost(then!) && isHost(otherwise!)) {
      return broadcastHosts([test, then, otherwise], then.dtype, (t, a, b) => (t ? a : b));
    }
    return where(tensorOf(test!).to('bool'), tensorOf(then!), tensorOf(otherwise!));
  };

const modulo: Operator = ({ attributes }) => {
  const isFmod = attributes.flag('fmod', false);
  return ([x, y]) => {
    if (isHost(x!) && isHost(y!)) {
      return broadcastHosts([x, y], 'int32', (a, b) =>
        isFmod ? a % divisor(b) : a - b * Math.floor(a / divisor(b)),
      );
    }
    const [a, b] = [tensorOf(x!), tensorOf(y!)];
    return isFmod ? a.fmod(b) : a.remainder(b);
  };
};

const mean: Operator = () => (operands) =>
  operands
    .map((each) => tensorOf(each!))
    .reduce((x, y) => x.add(y))
    .div(operands.length);

const gelu: Operator = ({ attributes }) => {
  const approximate = attributes.choice('approximate', ['none', 'tanh'], 'none');
  return ([x]) => tensorOf(x!).gelu(approximate);
};

/** In inference: the operand, and a mask that keeps everything. */
const dropout: Operator = ({ outputs }) => {
  return ([x, , training]) => {
    if (training && numberIn(training) !== 0) throw missing('Dropout in training mode');
    return outputs === 1 ? x! : [x!, tensorOf(x!).newOnes(x!.shape).to('bool')];
  };
};

const same: Operator =
  () =>
  ([x]) =>
    x!;

const power: Operator =
  () =>
  ([x, y]) => {
    if (isHost(x!) && isHost(y!)) {
      const isWhole = !isFractional(x.dtype);
      return broadcastHosts([x, y], x.dtype, isWhole ? raised : (a, b) => a ** b);
    }
    const base = tensorOf(x!);
    const isNumber = isHost(y!) && y.values.length === 1 && y.shape.length <= base.rank;
    return base.pow(isNumber ? numberIn(y) : tensorOf(y!)).to(base.dtype);
  };

const prelu = (x: Tensor, slope: Tensor): Tensor => where(x.lt(0), x.mul(slope), x);

const shrink = (x: Tensor, lambd: number, bias: number): Tensor => {
  const above = where(x.gt(lambd), x.sub(bias), x.mul(0));
  return where(x.lt(-lambd), x.add(bias), above).to(x.dtype);
};

export const elementwiseOperators: Readonly<Record<string, Operator>> = {
  Add: binary(
    (x, y) => x.add(y),
    (x, y) => x + y,
  ),
  Sub: binary(
    (x, y) => x.sub(y),
    (x, y) => x - y,
  ),
  Mul: binary(
    (x, y) => x.mul(y),
    (x, y) => x * y,
  ),
  Div: binary(
    divide,
    (x, y) => Math.trunc(x / divisor(y)),
    undefined,
    (x, y) => x / y,
  ),
  Pow: power,
  Mod: modulo,
  Max: variadic((x, y) => x.maximum(y), Math.max),
  Min: variadic((x, y) => x.minimum(y), Math.min),
  Sum: variadic(
    (x, y) => x.add(y),
    (x, y) => x + y,
  ),
  Mean: mean,
  And: comparison(
    (x, y) => x.logicalAnd(y),
    (x, y) => x !== 0 && y !== 0,
  ),
  Or: comparison(
    (x, y) => x.logicalOr(y),
    (x, y) => x !== 0 || y !== 0,
  ),
  Xor: comparison(
    (x, y) => x.logicalXor(y),
    (x, y) => (x !== 0) !== (y !== 0),
  ),
  Not:
    () =>
    ([x]) =>
      isHost(x!)
        ? hostOf(
            x.values.map((value) => Number(value === 0)),
            x.shape,
            'bool',
          )
        : tensorOf(x!).logicalNot(),
  Equal: comparison(
    (x, y) => x.eq(y),
    (x, y) => x === y,
  ),
  Less: comparison(
    (x, y) => x.lt(y),
    (x, y) => x < y,
  ),
  LessOrEqual: comparison(
    (x, y) => x.le(y),
    (x, y) => x <= y,
  ),
  Greater: comparison(
    (x, y) => x.gt(y),
    (x, y) => x > y,
  ),
  GreaterOrEqual: comparison(
    (x, y) => x.ge(y),
    (x, y) => x >= y,
  ),
  Where: select,
  IsNaN: unary((x) => x.isnan()),
  IsInf: activation((x, { attributes }) => {
    const positive = attributes.flag('detect_positive', true);
    const negative = attributes.flag('detect_negative', true);
    if (positive && negative) return x.isinf();
    return x.isinf().logicalAnd(positive ? x.gt(0) : negative ? x.lt(0) : x.ne(x));
  }),
  Cast: cast,
  CastLike:
    () =>
    ([x, like]) =>
      tensorOf(x!).to(tensorOf(like!).dtype),
  Identity: same,
  Dropout: dropout,
  Clip: clip,
  Neg:
    () =>
    ([x]) =>
      isHost(x!)
        ? hostOf(
            x.values.map((value) => -value),
            x.shape,
            x.dtype,
          )
        : tensorOf(x!).neg(),
  Abs: rounding((x) => x.abs(), Math.abs),
  Sign: unary((x) => x.sign()),
  Exp: unary((x) => x.exp()),
  Log: unary((x) => x.log()),
  Sqrt: rounding((x) => x.sqrt(), Math.sqrt),
  Reciprocal: unary((x) => x.reciprocal()),
  Floor: rounding((x) => x.floor(), Math.floor),
  Ceil: rounding((x) => x.ceil(), Math.ceil),
  Round: rounding((x) => x.round(), nearestEven),
  Sin: unary((x) => x.sin()),
  Cos: unary((x) => x.cos()),
  Tan: unary((x) => x.tan()),
  Asin: unary((x) => x.asin()),
  Acos: unary((x) => x.acos()),
  Atan: unary((x) => x.atan()),
  Sinh: unary((x) => x.sinh()),
  Cosh: unary((x) => x.cosh()),
  Asinh: unary((x) => x.asinh()),
  Acosh: unary((x) => x.acosh()),
  Atanh: unary((x) => x.atanh()),
  Erf: unary((x) => x.erf()),
  Sigmoid: unary((x) => x.sigmoid()),
  Tanh: unary((x) => x.tanh()),
  Relu: unary((x) => x.relu()),
  Softplus: unary((x) => x.softplus()),
  Softsign: unary((x) => x.softsign()),
  Mish: unary((x) => x.mish()),
  HardSwish: unary((x) => x.hardswish()),
  Gelu: gelu,
  LeakyRelu: activation((x, { attributes }) => x.leakyRelu(attributes.number('alpha', 0.01))),
  Elu: activation((x, { attributes }) => x.elu(attributes.number('alpha', 1))),
  Celu: activation((x, { attributes }) => x.celu(attributes.number('alpha', 1))),
  Selu: activation((x, { attributes }) => {
    const alpha = attributes.number('alpha', 1.6732632423543772);
    return x.elu(alpha).mul(attributes.number('gamma', 1.0507009873554805));
  }),
  HardSigmoid: activation((x, { attributes }) =>
    x.mul(attributes.number('alpha', 0.2)).add(attributes.number('beta', 0.5)).clamp(0, 1),
  ),
  ThresholdedRelu: activation((x, { attributes }) => x.threshold(attributes.number('alpha', 1), 0)),
  Shrink: activation((x, { attributes }) =>
    shrink(x, attributes.number('lambd', 0.5), attributes.number('bias', 0)),
  ),
  PRelu:
    () =>
    ([x, slope]: readonly Operand[]) =>
      prelu(tensorOf(x!), tensorOf(slope!)),
};
