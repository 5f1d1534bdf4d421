/** Writes over the first operand. All refuse to run where gradients are recorded through them. */

import { ShapeError } from '../errors/errors.ts';
import { formatSpec, type TensorMeta } from '../tensor/meta.ts';
import { broadcastShapes, sameShape } from '../tensor/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { bind1 } from './bind.ts';
import { cast } from './cast.ts';
import { defineOp } from './define-op.ts';
import { E } from './expr.ts';

const x = E.input(0);
const y = E.input(1);
const z = E.input(2);
const value = E.attr('value');

/** The others must broadcast into the target, whose shape can't grow. */
function inferTarget(name: string) {
  return ([target, ...others]: readonly TensorMeta[]) => {
    for (const other of others) {
      if (sameShape(broadcastShapes(target!.shape, other.shape, name), target!.shape)) continue;
      throw new ShapeError({
        what: `${name}: the result would be larger than the target`,
        given: `target ${formatSpec(target!)}, operand ${formatSpec(other)}`,
        expected: "an operand that broadcasts to the target's shape",
        remedy: `use the out-of-place form of ${name}`,
      });
    }
    return { dtype: target!.dtype, shape: target!.shape };
  };
}

const addScaledInto = defineOp({
  name: 'add_',
  operands: { x: 'data', y: 'data' },
  infer: inferTarget('add_'),
  kernel: { kind: 'pointwise', expr: E.add(x, E.mul(y, value)) },
  inPlace: true,
});

const mulInto = defineOp({
  name: 'mul_',
  operands: { x: 'data', y: 'data' },
  infer: inferTarget('mul_'),
  kernel: { kind: 'pointwise', expr: E.mul(x, y) },
  inPlace: true,
});

const addScalarInto = defineOp({
  name: 'addScalar_',
  operands: { x: 'data' },
  infer: inferTarget('add_'),
  kernel: { kind: 'pointwise', expr: E.add(x, value) },
  inPlace: true,
});

const mulScalarInto = defineOp({
  name: 'mulScalar_',
  operands: { x: 'data' },
  infer: inferTarget('mul_'),
  kernel: { kind: 'pointwise', expr: E.mul(x, value) },
  inPlace: true,
});

const fillInto = defineOp({
  name: 'fill_',
  operands: { x: 'data' },
  infer: inferTarget('fill_'),
  kernel: { kind: 'pointwise', expr: value },
  inPlace: true,
});

const copyInto = defineOp({
  name: 'copy_',
  operands: { x: 'data', source: 'data' },
  infer: inferTarget('copy_'),
  kernel: { kind: 'named', name: 'copyInto' },
  layout: 'any',
  inPlace: true,
});

const addcmulInto = defineOp({
  name: 'addcmul_',
  operands: { x: 'data', y: 'data', z: 'data' },
  infer: inferTarget('addcmul_'),
  kernel: { kind: 'pointwise', expr: E.add(x, E.mul(E.mul(y, z), value)) },
  inPlace: true,
});

const addcdivInto = defineOp({
  name: 'addcdiv_',
  operands: { x: 'data', y: 'data', z: 'data' },
  infer: inferTarget('addcdiv_'),
  kernel: { kind: 'pointwise', expr: E.add(x, E.mul(E.div(y, z), value)) },
  inPlace: true,
});

/** x += alpha · y */
export function add_(target: Tensor, other: Tensor | number, alpha = 1): Tensor {
  return typeof other === 'number'
    ? bind1(addScalarInto, [target], { value: other * alpha })
    : bind1(addScaledInto, [target, cast(other, target.dtype)], { value: alpha });
}

/** x *= y */
export function mul_(target: Tensor, other: Tensor | number): Tensor {
  return typeof other === 'number'
    ? bind1(mulScalarInto, [target], { value: other })
    : bind1(mulInto, [target, cast(other, target.dtype)]);
}

export function fill_(target: Tensor, value: number): Tensor {
  return bind1(fillInto, [target], { value });
}

export function copy_(target: Tensor, source: Tensor): Tensor {
  return bind1(copyInto, [target, cast(source, target.dtype)]);
}

/** x += value · y · z */
export function addcmul_(target: Tensor, y: Tensor, z: Tensor, value = 1): Tensor {
  return bind1(addcmulInto, [target, y, z], { value });
}

/** x += value · y / z */
export function addcdiv_(target: Tensor, y: Tensor, z: Tensor, value = 1): Tensor {
  return bind1(addcdivInto, [target, y, z], { value });
}
