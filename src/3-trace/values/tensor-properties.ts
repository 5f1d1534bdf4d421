import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { tensorMethods } from '../../../runtime/tensor-methods/methods.ts';
import { accessorOf, isProxy, readsPlainly } from '../../guards/plain.ts';
import type { Source } from '../../guards/source.ts';
import { isTensorGetter } from '../../guards/tensor-getters.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { optionsOf } from '../control-flow/merge/describe.ts';
import { expectOneTensor } from '../control-flow/merge/one-tensor.ts';
import { requiresGradAlways, requiresGradFlag } from '../control-flow/merge/requires-grad.ts';
import { scalarUnary } from '../control-flow/numbers/scalars.ts';
import type { Key } from '../heap/made-objects.ts';
import { writtenThere } from '../heap/written-above.ts';
import { type SizeRead, sizeIn } from '../inputs/sizes.ts';
import { symbolicFrom } from '../inputs/symbolic.ts';
import { sizeSource } from '../state/symbolic-guards.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, guardIdentity } from '../state/value-guards.ts';
import { resolved } from '../variables/unions.ts';
import {
  type FunctionVariable,
  known,
  newArray,
  type ObjectVariable,
  type TensorVariable,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import { callGetter } from './getters.ts';
import { deferToRun } from './numbers.ts';

/** Properties covered by the guard on the tensor. */
const metaProperties = new Set([
  'dtype',
  'rank',
  'ndim',
  'itemsize',
  'requiresGrad',
  'isContiguous',
]);

/** Own fields of tensors that the trace knows. */
const fields = new Set(['shape', 'dtype', 'device', 'grad']);

/** The other own fields, which `Tensor.prototype` doesn't have either. */
const otherFields: ReadonlySet<string> = new Set<string & keyof Tensor>([
  'strides',
  'offset',
  'traced',
  'hooks',
  'retainsGrad',
  'list',
  'place',
]);

/** `x.key` for a tensor. */
export function readTensorProperty(t: Tracer, variable: TensorVariable, key: string): Variable {
  t.rows?.expectMember(variable, key, metaProperties.has(key));
  return (fields.has(key) ? undefined : readMember(t, variable, key)) ?? readOwn(t, variable, key);
}

/** `x[symbol]` for a tensor: `x[Symbol.dispose]`, and user-defined properties of tensors or `Tensor.prototype`. */
export function readTensorSymbol(t: Tracer, variable: TensorVariable, key: symbol): Variable {
  t.rows?.expectMember(variable, key);
  return readMember(t, variable, key) ?? undefinedVariable;
}

const methods = { kind: 'held', value: Tensor.prototype, name: 'Tensor.prototype' } as const;

/** Reads an inherited or user-defined member. Returns undefined for this package's own fields and getters. */
function readMember(t: Tracer, variable: TensorVariable, key: Key): Variable | undefined {
  const { source, actual } = variable;
  if (source && actual) {
    if (Object.getPrototypeOf(actual) !== Tensor.prototype || Object.hasOwn(actual, key)) {
      return readByPlace(t, variable, { kind: 'object', value: actual, source }, key);
    }
    t.inherited.expectBare(source, key);
  } else if (typeof key === 'string' && otherFields.has(key)) {
    return undefined;
  }
  if (t.effects.isWritten(Tensor.prototype)) {
    const written = writtenThere(t, Tensor.prototype, methods, key);
    if (written) return written;
  }
  const { getter, value } = t.inherited.read(Tensor.prototype, key);
  if (isTensorGetter(getter)) return undefined;
  if (typeof value === 'function') {
    // A tensor may be disposed twice.
    if (key === 'dispose' || key === Symbol.dispose) readDisposed(t, variable);
    else t.use(variable, 'layout');
    return { kind: 'function', value: value as (...args: never[]) => unknown, source: null };
  }
  const prototype = { kind: 'object', value: Tensor.prototype, source: methods } as const;
  return readByPlace(t, variable, prototype, key);
}

/** Reads a user-defined property of the tensor, its class or `Tensor.prototype`. */
function readByPlace(
  t: Tracer,
  receiver: TensorVariable,
  holder: ObjectVariable,
  key: Key,
): Variable | undefined {
  const { value: object, source: base } = holder;
  const accessor = isProxy(object) ? undefined : accessorOf(object, key);
  if (accessor?.get && isTensorGetter(accessor.get)) {
    const source: Source = { kind: 'accessor', base, key, which: 'get' };
    guardIdentity(t, t.read(source, accessor.get) as FunctionVariable);
    return undefined;
  }
  if (accessor) return callGetter(t, holder, receiver, key, accessor);
  if (!readsPlainly(object, key)) {
    throw new GraphBreak('getter', `reading ${String(key)} of a tensor`);
  }
  const value: unknown = (object as unknown as Record<Key, unknown>)[key];
  return t.read({ kind: 'property', base, key }, value);
}

/** Reads `disposed` without needing the data, which a disposed tensor no longer has. */
function readDisposed(t: Tracer, variable: TensorVariable): Variable {
  const { source, actual, traced } = variable;
  const disposal = t.effects.disposed.get((actual ?? traced)!);
  if (disposal?.when) {
    throw new GraphBreak(
      'branch-effect',
      'a tensor that a branch may have disposed of is asked for',
    );
  }
  if (disposal) return known(true);
  if (!source || !actual || actual.holder) return known(t.use(variable).disposed);
  return t.read({ kind: 'property', base: source, key: 'disposed' }, true);
}

const isOuterLeaf = ({ actual }: TensorVariable): boolean =>
  actual?.isLeaf === true && actual.requiresGrad;

/** Whether a merged tensor is a leaf on some paths. */
const mayBeLeaf = ({ mayAlias, mergedFrom = [] }: TensorVariable): boolean =>
  mayAlias.some(isOuterLeaf) ||
  mergedFrom.some(({ traced }) => traced?.isLeaf === true && traced.requiresGrad);

/** Reads one of this package's own properties. */
function readOwn(t: Tracer, variable: TensorVariable, key: string): Variable {
  if (key === 'shape') {
    if (!variable.shape) {
      const { shape } = t.use(variable, 'layout');
      variable.shape = newArray(shape.map((_, dim) => sizeOf(t, variable, dim)));
      t.sizes.shapesRead.push(variable);
    }
    return variable.shape;
  }
  if (key === 'isLeaf' && variable.source && variable.actual) {
    // The tensor guard doesn't cover autograd history, since no op of a program depends on it.
    const source = { kind: 'property', base: variable.source, key } as const;
    return t.read(source, variable.actual.isLeaf);
  }
  if (key === 'isLeaf' && mayBeLeaf(variable)) {
    throw new GraphBreak('branch-gradient', 'isLeaf of a tensor that some paths leave as a leaf');
  }
  if (key === 'disposed') return readDisposed(t, variable);
  if (key === 'requiresGrad' || key === 'isLeaf') {
    const tensor = t.use(variable, 'layout');
    // Disposing a result frees its place in the graph.
    if (key === 'isLeaf' && requiresGradAlways(t, tensor) !== false) t.use(variable);
    // A tensor that requires no gradients is a leaf.
    if (requiresGradAlways(t, tensor) === null) {
      const flag = requiresGradFlag(t, tensor);
      return key === 'requiresGrad' ? flag : scalarUnary(t, '!', flag)!;
    }
  }
  if (key === 'device') {
    const { device } = t.use(variable, 'layout');
    return t.read({ kind: 'held', value: device, name: device.name }, device);
  }
  if (key === 'nbytes') {
    const count = elementCount(t, variable);
    const itemsize = known(t.use(variable, 'layout').itemsize);
    return deferToRun(t, '*', [count, itemsize]) ?? known(t.use(variable, 'layout').nbytes);
  }
  if (key === 'strides') {
    const tensor = t.use(variable, 'layout');
    return newArray(tensor.strides.map((_, dim) => layoutOf(t, tensor, 'strides', dim)));
  }
  const offset = key === 'offset' && offsetOf(t, t.use(variable, 'layout'));
  if (offset) return offset;
  if (metaProperties.has(key) || key === 'isLeaf') {
    const value: unknown = t.use(variable, 'layout')[key as keyof Tensor];
    return known(value as string | number | boolean);
  }
  if (key === 'grad') expectOneTensor(t, variable);
  if (key === 'grad' && variable.source && variable.actual) {
    const written = t.effects.written(variable.actual, variable.source, key);
    if (written) return written;
    const source = { kind: 'property', base: variable.source, key } as const;
    return t.read(source, variable.actual.grad);
  }
  if (key === 'grad') return variable.grad ?? known(null);
  const computed = tensorMethods.properties.get(key);
  if (!computed) throw new GraphBreak('unsupported-value', `the property ${key} of a tensor`);
  const x = t.use(variable);
  return t.result(t.perform([x], ([operand]) => computed(operand as Tensor)));
}

/** Returns the number of elements. */
export function elementCount(t: Tracer, variable: TensorVariable): Variable {
  return sizeOf(t, variable, null);
}

/** Returns a dimension, or the number of elements: a constant unless it may differ between runs. */
function sizeOf(t: Tracer, variable: TensorVariable, dim: number | null): Variable {
  const tensor = t.use(variable, 'layout');
  t.rows?.expectNoSize(tensor);
  const value = sizeIn(tensor, { dim, of: 'shape' });
  const { sizes } = t;
  // If several sources lead to the tensor, its size keys use the first.
  const { source } = t.result(tensor);
  if (source && dim !== null) {
    return sizes.dims.get(tensor)?.has(dim)
      ? symbolicFrom(sizeSource(t, source, dim), value)
      : known(value);
  }
  if (source && !sizes.dims.has(tensor)) return known(value);
  return layoutOf(t, tensor, 'shape', dim);
}

/** Returns a number of a result's layout: a constant if no sizes vary. */
function layoutOf(t: Tracer, tensor: Tensor, of: SizeRead['of'], dim: number | null): Variable {
  const value = sizeIn(tensor, { dim, of });
  if (!t.sizes.vary) return known(value);
  return { kind: 'symbolic', expr: t.sizes.read(tensor, dim, of), value, source: null };
}

/**
 * Returns the offset of a result; undefined for a view of a branch's operand. In a program, the memory of an input
 * begins at the input's first element.
 */
function offsetOf(t: Tracer, tensor: Tensor): Variable | undefined {
  const offset = layoutOf(t, tensor, 'offset', null);
  const { builder } = t;
  const root = builder.rootOf(tensor);
  if (!builder.isInput(root)) return offset;
  if (t.control.depth > 0) return undefined;
  const input = t.inputs.find((each) => builder.valueOf(each.tensor) === root)!;
  const { source, actual } = input;
  const start = t.read({ kind: 'property', base: source, key: 'offset' }, actual.offset);
  const sum = () => (constantOf(t, start) as number) + (constantOf(t, offset) as number);
  return deferToRun(t, '+', [start, offset]) ?? known(sum());
}

/** `x.grad = value`, which is written after the run for a pre-existing tensor. */
export function writeTensorGrad(t: Tracer, variable: TensorVariable, value: Variable): void {
  expectOneTensor(t, variable);
  const { actual, source } = variable;
  const mayBe = (option: Variable): boolean =>
    option.kind === 'tensor' || (option.kind === 'constant' && constantOf(t, option) === null);
  const isGradient = optionsOf(resolved(value)).every(mayBe);
  // The gradient of a tensor from before a branch or loop would have to be merged with its earlier value.
  const isOwn =
    t.control.depth === 0 ||
    t.control.endsWith(t.frames[0]!) ||
    (!source && variable.traced?.traced?.builder === t.builder);
  if (!source && isGradient && isOwn) {
    t.journal.set(variable, 'grad', value);
    return;
  }
  if (!actual || !source || !isGradient) {
    throw new GraphBreak('object-write', 'the gradient of a tensor is assigned');
  }
  t.effects.write(actual, source, 'grad', value);
}
