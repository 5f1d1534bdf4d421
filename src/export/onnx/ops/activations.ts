import { numberAttr } from '../../target/attributes.ts';
import type { Value } from '../emit/emitter.ts';
import type { OpCall } from '../emit/op-mapping.ts';

type Activation = (call: OpCall) => Value;

/** A node with one operand; `attributes`: our attributes by ONNX's names. */
function node(
  opType: string,
  attributes: Readonly<Record<string, string | number>> = {},
): Activation {
  return ({ to, inputs, attrs }) => {
    const [x] = inputs as [Value];
    const entries = Object.entries(attributes).map(([name, from]) => {
      const value = typeof from === 'number' ? from : (attrs[from] as number);
      return [name, { float: value }] as const;
    });
    return to.op(opType, [x], x.element, x.shape, Object.fromEntries(entries));
  };
}

const gelu: Activation = ({ to, inputs }) => {
  const [x] = inputs as [Value];
  const c = (value: number) => to.constant(value, x.element);
  const erf = to.op('Erf', [to.binary('multiply', x, c(Math.SQRT1_2))], x.element, x.shape);
  const half = to.binary('multiply', c(0.5), x);
  return to.binary('multiply', half, to.binary('add', c(1), erf));
};

const silu: Activation = ({ to, inputs }) => {
  const [x] = inputs as [Value];
  return to.binary('multiply', x, to.op('Sigmoid', [x], x.element, x.shape));
};

const clamp: Activation = (call) => {
  const [x] = call.inputs as [Value];
  const bounds = ['min', 'max'].map((name) => numberAttr(call, name, x.element));
  return call.to.op('Clip', [x, ...bounds], x.element, x.shape);
};

/** Activations of float32 that are one ONNX node, or a pattern that its runtimes fuse. */
export const activationOps: Readonly<Record<string, Activation>> = {
  relu: node('Relu'),
  sigmoid: node('Sigmoid'),
  erf: node('Erf'),
  elu: node('Elu', { alpha: 'alpha' }),
  celu: node('Celu', { alpha: 'alpha' }),
  leakyRelu: node('LeakyRelu', { alpha: 'negativeSlope' }),
  selu: node('Selu'),
  hardsigmoid: node('HardSigmoid', { alpha: 1 / 6, beta: 0.5 }),
  hardswish: node('HardSwish'),
  softsign: node('Softsign'),
  mish: node('Mish'),
  reciprocal: node('Reciprocal'),
  hardtanh: clamp,
  clamp,
  gelu,
  silu,
};
