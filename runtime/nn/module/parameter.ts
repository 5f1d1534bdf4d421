import { noGrad } from '../../autograd/grad-mode.ts';
import { add_, mul_ } from '../../ops/in-place/in-place.ts';
import { rand } from '../../ops/random/drawn.ts';
import { expectTensors } from '../../ops/record/expect-tensors.ts';
import { expectArguments, expectOptions } from '../../options/expect-options.ts';
import { anyNumber, flag } from '../../options/option-kinds.ts';
import type { Shape } from '../../spec/shape.ts';
import { keep } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';

/** A tensor that a module learns. Frozen with `requiresGrad_(false)`, it is still a parameter. */
export type Parameter = Tensor;

/** The role of a tensor in its module; a cached tensor has no role. */
type Role = 'parameter' | 'buffer' | 'temporary buffer';

const roles = new WeakMap<Tensor, Role>();

/** Makes a tensor trainable: it requires a gradient and outlives any `tidy` around it. */
export function parameter(tensor: Tensor): Parameter {
  expectTensors('parameter', tensor);
  roles.set(tensor, 'parameter');
  return keep(tensor).requiresGrad_();
}

export interface BufferOptions {
  /** Whether `stateDict()` includes the tensor; true by default. */
  readonly persistent?: boolean;
}

/** Makes a tensor part of the module's state without being trained, such as a running mean. */
export function buffer(tensor: Tensor, options: BufferOptions = {}): Tensor {
  expectTensors('buffer', tensor);
  expectOptions('buffer', options, { persistent: flag });
  roles.set(tensor, (options.persistent ?? true) ? 'buffer' : 'temporary buffer');
  return keep(tensor);
}

/** Whether the tensor is a parameter. A module's leaf that requires a gradient becomes one when it is first found. */
export function isParameter(tensor: Tensor): boolean {
  const role = roles.get(tensor);
  if (role !== undefined) return role === 'parameter';
  if (!becomesParameter(tensor)) return false;
  roles.set(tensor, 'parameter');
  return true;
}

/** A disposed result has lost its history and looks like a leaf. */
const becomesParameter = (tensor: Tensor): boolean =>
  !tensor.disposed && tensor.requiresGrad && tensor.isLeaf;

/** Whether the tensor has a role, or gets one when a module finds it. */
export function mayBeState(tensor: Tensor): boolean {
  return roles.has(tensor) || becomesParameter(tensor);
}

export function isBuffer(tensor: Tensor): boolean {
  return roles.get(tensor)?.endsWith('buffer') ?? false;
}

/** Whether the tensor belongs to the state: parameters, including frozen ones, and persistent buffers. */
export function isState(tensor: Tensor): boolean {
  return isParameter(tensor) || roles.get(tensor) === 'buffer';
}

/** Gives a copy of a tensor, moved or cast, the role of the original. */
export function sameRole(from: Tensor, to: Tensor): Tensor {
  const role = roles.get(from);
  if (role) roles.set(to, role);
  return keep(to);
}

/**
 * Creates a weight or bias with PyTorch's default initialization, uniform in ±1/√fanIn: Kaiming's bound with a = √5.
 */
export function kaimingUniform(shape: Shape, fanIn: number): Parameter {
  expectArguments('kaimingUniform', { fanIn }, { fanIn: anyNumber });
  const bound = fanIn > 0 ? 1 / Math.sqrt(fanIn) : 0;
  return noGrad(() => {
    const values = rand(shape);
    mul_(values, 2 * bound);
    add_(values, -bound);
    return parameter(values);
  });
}
