import { DTypeError } from '../errors/errors.ts';
import { type DType, dtypes, promote } from '../tensor/dtype.ts';
import { formatSpec, type TensorMeta } from '../tensor/meta.ts';
import { broadcastShapes } from '../tensor/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { bind1 } from './bind.ts';
import { sumTo } from './broadcast.ts';
import { casting } from './cast.ts';
import { type Attrs, defineOp, expectTensor, type OpRecord, saving } from './define-op.ts';
import { E, type Expr } from './expr.ts';

const x = E.input(0);
const y = E.input(1);
const value = E.attr('value');

// Shape inference

function inferBinary(name: string, output?: DType) {
  return ([a, b]: readonly TensorMeta[]) => {
    if (a!.dtype !== b!.dtype) {
      throw new DTypeError({
        what: `${name}: operands of different dtypes`,
        given: `${formatSpec(a!)} and ${formatSpec(b!)}`,
        expected: 'equal dtypes',
        remedy: "cast one of them: x.to('float32')",
      });
    }
    return { dtype: output ?? a!.dtype, shape: broadcastShapes(a!.shape, b!.shape, name) };
  };
}

function inferFloat(name: string) {
  return ([a]: readonly TensorMeta[]) => {
    if (!dtypes[a!.dtype].floating) {
      throw new DTypeError({
        what: `${name}: not a floating-point tensor`,
        given: formatSpec(a!),
        expected: 'float32',
        remedy: "cast it: x.to('float32')",
      });
    }
    return { dtype: a!.dtype, shape: a!.shape };
  };
}

/** Subtraction has no meaning for truth values. */
function refuseBool(name: string, x: TensorMeta): void {
  if (x.dtype !== 'bool') return;
  throw new DTypeError({
    what: `${name}: truth values have no differences`,
    given: formatSpec(x),
    expected: 'float32 or int32',
    remedy: 'compare with eq() or ne(), or cast first',
  });
}

const inferSame = ([a]: readonly TensorMeta[]) => ({ dtype: a!.dtype, shape: a!.shape });
const inferBool = ([a]: readonly TensorMeta[]) => ({ dtype: 'bool' as const, shape: a!.shape });

const pointwise = (expr: Expr) => ({ kind: 'pointwise', expr }) as const;

// Arithmetic of two tensors

const addOp = defineOp({
  name: 'add',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('add'),
  kernel: pointwise(E.add(x, y)),
  vjp: {
    x: saving({ x: 'shape' }, ({ x }, dy) => sumTo(dy, x)),
    y: saving({ y: 'shape' }, ({ y }, dy) => sumTo(dy, y)),
  },
});

const subOp = defineOp({
  name: 'sub',
  operands: { x: 'data', y: 'data' },
  infer: ([a, b]) => {
    refuseBool('sub', a!);
    return inferBinary('sub')([a!, b!]);
  },
  kernel: pointwise(E.sub(x, y)),
  vjp: {
    x: saving({ x: 'shape' }, ({ x }, dy) => sumTo(dy, x)),
    y: saving({ y: 'shape' }, ({ y }, dy) => sumTo(neg(dy), y)),
  },
});

const mulOp = defineOp({
  name: 'mul',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('mul'),
  kernel: pointwise(E.mul(x, y)),
  vjp: {
    x: saving({ x: 'shape', y: 'value' }, ({ x, y }, dy) => sumTo(mul(dy, y), x)),
    y: saving({ x: 'value', y: 'shape' }, ({ x, y }, dy) => sumTo(mul(dy, x), y)),
  },
});

const divOp = defineOp({
  name: 'div',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('div'),
  kernel: pointwise(E.div(x, y)),
  vjp: {
    x: saving({ x: 'shape', y: 'value' }, ({ x, y }, dy) => sumTo(div(dy, y), x)),
    // d(x/y)/dy = −(x/y)/y
    y: saving({ out: 'value', y: 'value' }, ({ out, y }, dy) =>
      sumTo(neg(div(mul(dy, out), y)), y),
    ),
  },
});

const maximumOp = defineOp({
  name: 'maximum',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('maximum'),
  kernel: pointwise(E.max(x, y)),
  vjp: {
    x: saving({ x: 'value', y: 'value' }, ({ x, y }, dy) => sumTo(largerShare(dy, x, y), x)),
    y: saving({ x: 'value', y: 'value' }, ({ x, y }, dy) => sumTo(largerShare(dy, y, x), y)),
  },
});

/** The gradient of max(x, y) for x: all where x is larger, half at a tie, as in PyTorch. */
const largerShareOp: OpRecord = defineOp({
  name: 'largerShare',
  operands: { dy: 'data', x: 'data', y: 'data' },
  infer: ([dy]) => ({ dtype: dy!.dtype, shape: dy!.shape }),
  kernel: pointwise(
    E.select(
      E.gt(E.input(1), E.input(2)),
      x,
      E.select(E.eq(E.input(1), E.input(2)), E.mul(x, E.const(0.5)), E.const(0)),
    ),
  ),
  vjp: { dy: saving({ x: 'value', y: 'value' }, ({ x, y }, g) => largerShare(g, x, y)) },
});

const largerShare = (dy: Tensor, a: Tensor, b: Tensor): Tensor => bind1(largerShareOp, [dy, a, b]);

// Arithmetic of a tensor and a number

const addScalarOp = defineOp({
  name: 'addScalar',
  operands: { x: 'data' },
  infer: inferSame,
  kernel: pointwise(E.add(x, value)),
  vjp: { x: saving({}, (_saved, dy) => dy) },
});

const mulScalarOp = defineOp({
  name: 'mulScalar',
  operands: { x: 'data' },
  infer: inferSame,
  kernel: pointwise(E.mul(x, value)),
  vjp: { x: saving({}, (_saved, dy, { value }) => mulScalar(dy, value as number)) },
});

const divScalarOp: OpRecord = defineOp({
  name: 'divScalar',
  operands: { x: 'data' },
  infer: inferFloat('div'),
  kernel: pointwise(E.div(x, value)),
  vjp: { x: saving({}, (_saved, dy, { value }) => bind1(divScalarOp, [dy], { value: value! })) },
});

const powScalarOp = defineOp({
  name: 'powScalar',
  operands: { x: 'data' },
  infer: inferFloat('pow'),
  kernel: pointwise(E.pow(x, value)),
  vjp: {
    x: saving({ x: 'value' }, ({ x }, dy, { value }) => {
      const exponent = value as number;
      // x⁰ is constant; the formula would make 0·∞ of it where x is 0.
      if (exponent === 0) return mulScalar(dy, 0);
      return mul(dy, mulScalar(pow(x, exponent - 1), exponent));
    }),
  },
});

// Functions of one tensor

const negOp = defineOp({
  name: 'neg',
  operands: { x: 'data' },
  infer: ([a]) => {
    refuseBool('neg', a!);
    return inferSame([a!]);
  },
  kernel: pointwise(E.neg(x)),
  vjp: { x: saving({}, (_saved, dy) => neg(dy)) },
});

const absOp = defineOp({
  name: 'abs',
  operands: { x: 'data' },
  infer: inferSame,
  kernel: pointwise(E.abs(x)),
  vjp: { x: saving({ x: 'value' }, ({ x }, dy) => mul(dy, sign(x))) },
});

const signOp = defineOp({
  name: 'sign',
  operands: { x: 'data' },
  infer: inferSame,
  kernel: pointwise(
    E.select(E.gt(x, E.const(0)), E.const(1), E.select(E.lt(x, E.const(0)), E.const(-1), x)),
  ),
  flat: true,
});

const expOp = defineOp({
  name: 'exp',
  operands: { x: 'data' },
  infer: inferFloat('exp'),
  kernel: pointwise(E.exp(x)),
  vjp: { x: saving({ out: 'value' }, ({ out }, dy) => mul(dy, out)) },
});

const logOp = defineOp({
  name: 'log',
  operands: { x: 'data' },
  infer: inferFloat('log'),
  kernel: pointwise(E.log(x)),
  vjp: { x: saving({ x: 'value' }, ({ x }, dy) => div(dy, x)) },
});

const sqrtOp = defineOp({
  name: 'sqrt',
  operands: { x: 'data' },
  infer: inferFloat('sqrt'),
  kernel: pointwise(E.sqrt(x)),
  vjp: { x: saving({ out: 'value' }, ({ out }, dy) => div(mulScalar(dy, 0.5), out)) },
});

const tanhOp = defineOp({
  name: 'tanh',
  operands: { x: 'data' },
  infer: inferFloat('tanh'),
  kernel: pointwise(E.tanh(x)),
  vjp: { x: saving({ out: 'value' }, ({ out }, dy) => bind1(tanhGradOp, [dy, out])) },
});

const tanhGradOp: OpRecord = defineOp({
  name: 'tanhGrad',
  operands: { dy: 'data', out: 'data' },
  infer: inferSame,
  kernel: pointwise(E.mul(x, E.sub(E.const(1), E.mul(y, y)))),
  vjp: {
    dy: saving({ out: 'value' }, ({ out }, g) => bind1(tanhGradOp, [g, out])),
    out: saving({ dy: 'value', out: 'value' }, ({ dy, out }, g) =>
      mul(mulScalar(mul(g, dy), -2), out),
    ),
  },
});

const sigmoidOp = defineOp({
  name: 'sigmoid',
  operands: { x: 'data' },
  infer: inferFloat('sigmoid'),
  kernel: pointwise(E.div(E.const(1), E.add(E.const(1), E.exp(E.neg(x))))),
  vjp: { x: saving({ out: 'value' }, ({ out }, dy) => bind1(sigmoidGradOp, [dy, out])) },
});

const sigmoidGradOp: OpRecord = defineOp({
  name: 'sigmoidGrad',
  operands: { dy: 'data', out: 'data' },
  infer: inferSame,
  kernel: pointwise(E.mul(x, E.mul(y, E.sub(E.const(1), y)))),
  vjp: {
    dy: saving({ out: 'value' }, ({ out }, g) => bind1(sigmoidGradOp, [g, out])),
    out: saving({ dy: 'value', out: 'value' }, ({ dy, out }, g) =>
      mul(mul(g, dy), add(mulScalar(out, -2), 1)),
    ),
  },
});

const reluOp = defineOp({
  name: 'relu',
  operands: { x: 'data' },
  infer: inferSame,
  kernel: pointwise(E.max(x, E.const(0))),
  vjp: { x: saving({ out: 'value' }, ({ out }, dy) => bind1(reluGradOp, [dy, out])) },
});

const reluGradOp: OpRecord = defineOp({
  name: 'reluGrad',
  operands: { dy: 'data', out: 'data' },
  infer: inferSame,
  kernel: pointwise(E.select(E.gt(y, E.const(0)), x, E.const(0))),
  vjp: { dy: saving({ out: 'value' }, ({ out }, g) => bind1(reluGradOp, [g, out])) },
});

// Comparison and choice

const compareOps = {
  eq: comparison('eq'),
  ne: comparison('ne'),
  lt: comparison('lt'),
  le: comparison('le'),
  gt: comparison('gt'),
  ge: comparison('ge'),
} as const;

function comparison(name: 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge') {
  return {
    tensor: defineOp({
      name,
      operands: { x: 'data', y: 'data' },
      infer: inferBinary(name, 'bool'),
      kernel: pointwise(E[name](x, y)),
    }),
    scalar: defineOp({
      name: `${name}Scalar`,
      operands: { x: 'data' },
      infer: inferBool,
      kernel: pointwise(E[name](x, value)),
    }),
  };
}

const whereOp = defineOp({
  name: 'where',
  operands: { test: 'data', x: 'data', y: 'data' },
  infer: ([test, a, b]) => {
    const { dtype, shape } = inferBinary('where')([a!, b!]);
    return { dtype, shape: broadcastShapes(test!.shape, shape, 'where') };
  },
  kernel: pointwise(E.select(E.ne(x, E.const(0)), y, E.input(2))),
  vjp: {
    x: saving({ test: 'value', x: 'shape' }, ({ test, x }, dy) =>
      sumTo(bind1(keepWhereOp, [dy, test]), x),
    ),
    y: saving({ test: 'value', y: 'shape' }, ({ test, y }, dy) =>
      sumTo(bind1(dropWhereOp, [dy, test]), y),
    ),
  },
});

// 0 where the other operand was chosen: a product with a mask would turn Infinity into NaN.
const keepWhereOp: OpRecord = defineOp({
  name: 'keepWhere',
  operands: { dy: 'data', test: 'data' },
  infer: inferSame,
  kernel: pointwise(E.select(E.ne(y, E.const(0)), x, E.const(0))),
  vjp: { dy: saving({ test: 'value' }, ({ test }, g) => bind1(keepWhereOp, [g, test])) },
});

const dropWhereOp: OpRecord = defineOp({
  name: 'dropWhere',
  operands: { dy: 'data', test: 'data' },
  infer: inferSame,
  kernel: pointwise(E.select(E.ne(y, E.const(0)), E.const(0), x)),
  vjp: { dy: saving({ test: 'value' }, ({ test }, g) => bind1(dropWhereOp, [g, test])) },
});

// The public functions: promotion, and numbers as operands

export type Operand = Tensor | number;

/** Both operands in the dtype that PyTorch's rule gives (bool < int32 < float32). */
function bindPromoted(op: OpRecord, a: Tensor, b: Tensor): Tensor {
  expectTensor(op, b);
  return casting([a, b], promote(a.dtype, b.dtype), (operands) => bind1(op, operands));
}

function bindFloat(op: OpRecord, a: Tensor, attrs: Attrs = {}): Tensor {
  return casting([a], floating(a.dtype), (operands) => bind1(op, operands, attrs));
}

function bindNumber(op: OpRecord, a: Tensor, value: number): Tensor {
  return casting([a], joinedBy(a.dtype, value), (operands) => bind1(op, operands, { value }));
}

function floating(dtype: DType): DType {
  return dtypes[dtype].floating ? dtype : 'float32';
}

/** A number joins an integer tensor as an integer when it is one. */
function joinedBy(dtype: DType, number: number): DType {
  if (dtypes[dtype].floating) return dtype;
  return Number.isInteger(number) ? promote(dtype, 'int32') : 'float32';
}

export function add(a: Tensor, b: Operand): Tensor {
  return typeof b === 'number' ? bindNumber(addScalarOp, a, b) : bindPromoted(addOp, a, b);
}

export function sub(a: Tensor, b: Operand): Tensor {
  return typeof b === 'number' ? bindNumber(addScalarOp, a, -b) : bindPromoted(subOp, a, b);
}

export function mul(a: Tensor, b: Operand): Tensor {
  return typeof b === 'number' ? bindNumber(mulScalarOp, a, b) : bindPromoted(mulOp, a, b);
}

function mulScalar(a: Tensor, value: number): Tensor {
  return bind1(mulScalarOp, [a], { value });
}

/** True division: integers are divided as float32. */
export function div(a: Tensor, b: Operand): Tensor {
  if (typeof b === 'number') return bindFloat(divScalarOp, a, { value: b });
  expectTensor(divOp, b);
  return casting([a, b], floating(promote(a.dtype, b.dtype)), (operands) => bind1(divOp, operands));
}

export function pow(a: Tensor, exponent: number): Tensor {
  return bindFloat(powScalarOp, a, { value: exponent });
}

export function maximum(a: Tensor, b: Tensor): Tensor {
  return bindPromoted(maximumOp, a, b);
}

export const neg = (a: Tensor): Tensor => bind1(negOp, [a]);
export const abs = (a: Tensor): Tensor => bind1(absOp, [a]);
export const sign = (a: Tensor): Tensor => bind1(signOp, [a]);
export const exp = (a: Tensor): Tensor => bindFloat(expOp, a);
export const log = (a: Tensor): Tensor => bindFloat(logOp, a);
export const sqrt = (a: Tensor): Tensor => bindFloat(sqrtOp, a);
export const tanh = (a: Tensor): Tensor => bindFloat(tanhOp, a);
export const sigmoid = (a: Tensor): Tensor => bindFloat(sigmoidOp, a);
export const relu = (a: Tensor): Tensor => bind1(reluOp, [a]);

function compare(name: keyof typeof compareOps) {
  const { tensor, scalar } = compareOps[name];
  return (a: Tensor, b: Operand): Tensor =>
    typeof b === 'number' ? bindNumber(scalar, a, b) : bindPromoted(tensor, a, b);
}

export const eq = compare('eq');
export const ne = compare('ne');
export const lt = compare('lt');
export const le = compare('le');
export const gt = compare('gt');
export const ge = compare('ge');

/** Elements of `a` where `test` is true, of `b` elsewhere; all three broadcast. */
export function where(test: Tensor, a: Tensor, b: Tensor): Tensor {
  return casting([test], 'bool', ([mask]) =>
    casting([a, b], promote(a.dtype, b.dtype), (choices) => bind1(whereOp, [mask!, ...choices])),
  );
}
