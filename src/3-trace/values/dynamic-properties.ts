import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { bind1 } from '../../../runtime/ops/core/bind.ts';
import { dimensionOp } from '../../../runtime/program/control-ops.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { tensorMethods } from '../../../runtime/tensor-methods/methods.ts';
import { isTensorGetter } from '../../guards/tensor-getters.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { Tracer } from '../state/tracer.ts';
import { known, newArray, type UnbackedTensor, type Variable } from '../variables/variable.ts';
import { callDynamically } from './call-dynamically.ts';

/** Own fields of tensors; all other properties are inherited from the prototype. */
const fields = new Set(['shape', 'dtype', 'device']);

/** `x.key` for a tensor of data-dependent shape, whose sizes are device scalars. */
export function readDynamicProperty(t: Tracer, variable: UnbackedTensor, key: string): Variable {
  const { tensor, sizes } = variable;
  if (!fields.has(key)) {
    const { getter, value } = t.inherited.read(Tensor.prototype, key);
    if (typeof value === 'function') {
      return { kind: 'function', value: value as (...args: never[]) => unknown, source: null };
    }
    if (!isTensorGetter(getter)) throw unknownProperty(key);
  }
  switch (key) {
    case 'shape':
      return newArray(
        sizes.map((size, dim) => (size === null ? dimension(t, variable, dim) : known(size))),
      );
    case 'rank':
    case 'ndim':
      return known(sizes.length);
    case 'dtype':
    case 'itemsize':
    case 'requiresGrad':
    case 'isLeaf':
      return known(tensor[key]);
    case 'isContiguous':
      return known(true);
    case 'disposed':
      return known(false);
    case 'device': {
      const { device } = tensor;
      return t.read({ kind: 'held', value: device, name: device.name }, device);
    }
    default:
  }
  const computed = tensorMethods.properties.get(key);
  if (computed) return callDynamically(t, computed as never, known(undefined), [variable])!;
  throw unknownProperty(key);
}

function unknownProperty(key: string): GraphBreak {
  return new GraphBreak('unbacked-shape', `the property ${key} of a tensor of unknown shape`);
}

/** Returns the number of elements. */
export function dynamicElementCount(t: Tracer, variable: UnbackedTensor): Variable {
  return dimension(t, variable, -1);
}

/** Returns a size, or for −1 the number of elements. */
function dimension(t: Tracer, { tensor, shapes }: UnbackedTensor, dim: number): Variable {
  const number = t.runApi(() => noGrad(() => bind1(dimensionOp, [tensor], { dim })));
  const read = (shape: readonly number[]) => (dim < 0 ? sizeOf(shape) : shape[dim]!);
  t.control.samples.note(
    number,
    shapes.map((shape) => (shape ? read(shape) : Number.NaN)),
  );
  return { kind: 'scalar', type: 'number', tensor: number, at: t.position() };
}
