import { noGrad } from '../../../../runtime/autograd/grad-mode.ts';
import { reshape, select } from '../../../../runtime/ops/movement/movement.ts';
import { sizeOf } from '../../../../runtime/spec/shape.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { asOp } from '../../state/op-error.ts';
import type { Tracer } from '../../state/tracer.ts';
import { newArray, type TensorVariable, type Variable } from '../../variables/variable.ts';
import { expectReadable, readScalar } from './scalars.ts';

/** The maximum number of values read: each becomes a device scalar, with its own ops. */
const mostRead = 256;

/** `x.toArraySync()`: arrays of numbers that remain in the program; undefined for too many values. */
export function readArray(t: Tracer, variable: TensorVariable): Variable | undefined {
  const x = t.use(variable);
  if (sizeOf(x.shape) > mostRead) return undefined;
  asOp(t, () => expectReadable(x, 'toArraySync'));
  const shape = [...x.shape];
  const elements = t.perform<Tensor[]>([x], ([source]) =>
    noGrad(() => elementsOf(source as Tensor)),
  );
  let next = 0;
  const level = (dim: number): Variable => {
    if (dim < shape.length) {
      return newArray(Array.from({ length: shape[dim]! }, () => level(dim + 1)));
    }
    const value = readScalar(t, t.result(elements[next++]!) as TensorVariable);
    return x.dtype === 'bool' ? { ...value, type: 'boolean' } : value;
  };
  return level(0);
}

/** Returns the values as zero-dimensional tensors, in row-major order. */
function elementsOf(x: Tensor): Tensor[] {
  if (x.rank === 0) return [reshape(x, [])];
  return Array.from({ length: x.shape[0]! }, (_, i) => elementsOf(select(x, 0, i))).flat();
}
