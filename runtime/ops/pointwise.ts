import { DTypeError } from '../errors/errors.ts';
import { type DType, dtypes, promote } from '../tensor/dtype.ts';
import { formatSpec, type TensorMeta } from '../tensor/meta.ts';
import { broadcastShapes, sameShape } from '../tensor/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { bind1 } from './bind.ts';
import { type Attrs, defineOp, type OpRecord, saving } from './define-op.ts';
import { E, type Expr } from './expr.ts';
import { sumTo } from './reduce.ts';

const x = E.input(0);
const y = E.input(1);
const value = E.attr('value');

/** Binary ops compute in one dtype; the functions below cast before they bind. */
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

const inferSame = ([a]: readonly TensorMeta[]) => ({ dtype: a!.dtype, shape: a!.shape });
