/** Tensors created from device scalars: `tensor(n)`, `tensor([a, 1], { dtype })`, `full(shape, n)`. */

import { noGrad } from '../../../../runtime/autograd/grad-mode.ts';
import { expand } from '../../../../runtime/ops/core/broadcast.ts';
import { cast } from '../../../../runtime/ops/core/cast.ts';
import { tensor } from '../../../../runtime/ops/core/create.ts';
import { full } from '../../../../runtime/ops/movement/create.ts';
import { stack } from '../../../../runtime/ops/movement/joining.ts';
import { clone, reshape } from '../../../../runtime/ops/movement/movement.ts';
import { type DType, dtypes } from '../../../../runtime/spec/dtype.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { traceRequiresGrad } from '../../autograd/leaves.ts';
import { type GrowableArray, growableIn } from '../../control-flow/lists/growable-array.ts';
import { asNumber, typeOfScalar } from '../../control-flow/numbers/scalars.ts';
import { asInteger, isWhole } from '../../control-flow/numbers/whole-numbers.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { arrayElements, asArray } from '../../values/arrays.ts';
import { plainEntries } from '../../values/property-keys.ts';
import { numberNeeded } from '../../variables/number-needed.ts';
import { specialized } from '../../variables/unions.ts';
import type { DeviceScalar, Variable } from '../../variables/variable.ts';
import { numbersOf, tensorOfList } from './tensor-of-list.ts';

/** Returns the created tensor; undefined for other functions, and if all numbers are known. */
export function tensorOfScalars(
  t: Tracer,
  fn: unknown,
  args: readonly Variable[],
): Variable | undefined {
  const called = fn === tensor || fn === full ? fn : undefined;
  const [data, shape] = called === full ? [args[1], args[0]] : [args[0], undefined];
  if (!called || !data) return undefined;
  const growable = called === tensor ? growableIn(t, specialized(data)) : undefined;
  if (growable) return ofList(t, growable, args[1]);
  const leaves: Variable[] = [];
  const sizes = collect(t, data, leaves);
  if (!leaves.some(({ kind }) => kind === 'scalar')) return undefined;
  if (!sizes) throw new GraphBreak('unsupported-value', 'data-dependent numbers in a ragged array');
  const { dtype, requiresGrad } = optionsOf(
    t,
    leaves,
    args[called === full ? 2 : 1],
    called === full,
  );
  const elements = leaves.map((leaf) => element(t, leaf, dtype));
  const stacked = t.runApi(() =>
    noGrad(() => {
      if (shape) return clone(expand(elements[0]!, arrayOfSizes(t, shape)));
      // A separate tensor: writing to it must not change the scalar.
      return sizes.length === 0 ? clone(elements[0]!) : reshape(stack(elements), sizes);
    }),
  );
  const result = t.result(stacked);
  return requiresGrad ? traceRequiresGrad(t, result, []) : result;
}

function ofList(t: Tracer, array: GrowableArray, options: Variable | undefined): Variable {
  const { dtype, requiresGrad } = optionsGiven(t, options);
  const isInteger = dtype !== undefined && dtype !== 'bool' && !dtypes[dtype].floating;
  if (!isInteger && !requiresGrad) return tensorOfList(t, numbersOf(array), dtype);
  throw new GraphBreak(
    'unsupported-value',
    `a tensor of data-dependent length ${requiresGrad ? 'with requiresGrad' : `of ${dtype}`}`,
  );
}

/** Collects the leaves of nested arrays and returns the arrays' sizes; null if they are ragged. */
function collect(t: Tracer, data: Variable, leaves: Variable[]): number[] | null {
  const array = asArray(t, data);
  if (!array) {
    leaves.push(data);
    return [];
  }
  const elements = arrayElements(t, array);
  const inner = elements.map((each) => collect(t, each, leaves));
  const [first = []] = inner;
  const isEven = inner.every((each) => each?.join() === first?.join());
  return isEven && first ? [elements.length, ...first] : null;
}

/**
 * Returns the options of `tensor` or `full`. An integer dtype requires whole numbers; eager execution rejects
 * others.
 */
function optionsOf(
  t: Tracer,
  leaves: readonly Variable[],
  options: Variable | undefined,
  isFull: boolean,
): RequestedTensor {
  const areBooleans = !isFull && leaves.every((leaf) => typeOfScalar(t, leaf) === 'boolean');
  const { dtype = areBooleans ? 'bool' : 'float32', requiresGrad } = optionsGiven(t, options);
  if (dtypes[dtype].floating) return { dtype, requiresGrad };
  if (requiresGrad) {
    // Rejected by eager execution.
    throw new GraphBreak(
      'unsupported-value',
      `a tensor of data-dependent numbers, of ${dtype}, with requiresGrad`,
    );
  }
  if (dtype === 'bool') return { dtype, requiresGrad };
  const fraction = leaves.find((leaf): leaf is DeviceScalar => {
    return leaf.kind === 'scalar' && !isWhole(leaf);
  });
  if (!fraction) return { dtype, requiresGrad };
  throw numberNeeded(
    fraction,
    `becomes part of a tensor of ${dtype}, which does not hold every number`,
  );
}

interface RequestedTensor {
  readonly dtype: DType;
  readonly requiresGrad: boolean;
}

function optionsGiven(
  t: Tracer,
  options: Variable | undefined,
): Partial<RequestedTensor> & Pick<RequestedTensor, 'requiresGrad'> {
  let dtype: DType | undefined;
  let requiresGrad = false;
  const isGiven = options && !(options.kind === 'constant' && constantOf(t, options) === undefined);
  if (isGiven && options.kind === 'constant') {
    // Rejected by eager execution.
    throw new GraphBreak('unsupported-value', 'options that are not an object');
  }
  for (const { key, value } of isGiven ? plainEntries(t, options) : []) {
    const constant = constantOf(t, value);
    if (constant === undefined) continue;
    if (key === 'dtype' && typeof constant === 'string' && constant in dtypes)
      dtype = constant as DType;
    else if (key === 'requiresGrad' && typeof constant === 'boolean') requiresGrad = constant;
    else {
      throw new GraphBreak('unsupported-value', `a tensor of data-dependent numbers with ${key}`);
    }
  }
  return { ...(dtype && { dtype }), requiresGrad };
}

function element(t: Tracer, leaf: Variable, dtype: DType): Tensor {
  if (leaf.kind === 'scalar') {
    if (leaf.tensor.device !== t.currentDevice) {
      throw new GraphBreak('unsupported-value', 'a data-dependent number on another device');
    }
    const { tensor: value } = leaf;
    if (value.dtype === dtype) return value;
    const isInteger = dtype !== 'bool' && !dtypes[dtype].floating;
    if (isInteger) return asInteger(t, asNumber(t, leaf), dtype);
    return t.runApi(() => noGrad(() => cast(value, dtype)));
  }
  const value = constantOf(t, leaf);
  if (typeof value !== 'number' && typeof value !== 'boolean') {
    throw new GraphBreak(
      'unsupported-value',
      'data-dependent numbers and other values as elements of one tensor',
    );
  }
  return t.runApi(() => noGrad(() => full([], Number(value), { dtype })));
}

function arrayOfSizes(t: Tracer, shape: Variable): number[] {
  const array = asArray(t, shape);
  const sizes = array && arrayElements(t, array).map((size) => constantOf(t, size));
  if (sizes?.every((size): size is number => typeof size === 'number')) return sizes;
  throw new GraphBreak(
    'unsupported-value',
    'full() of a data-dependent number with an unknown shape',
  );
}
