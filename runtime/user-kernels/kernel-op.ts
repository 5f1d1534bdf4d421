import { gradEnabled } from '../autograd/grad-mode.ts';
import { formatSpec, type TensorMeta } from '../device/tensor-meta.ts';
import type { UserKernel } from '../device/user-kernel.ts';
import { AutogradError, DTypeError, ShapeError } from '../errors/errors.ts';
import { bind1 } from '../ops/core/bind.ts';
import { zerosLike } from '../ops/movement/ranges.ts';
import { expectTensor, type Gradient, type OpRecord } from '../ops/record/define-op.ts';
import type { DType } from '../spec/dtype.ts';
import { type Shape, sameShape, sizeOf } from '../spec/shape.ts';
import { Tensor } from '../tensor/tensor.ts';

/** The shape of the result, or a function of the operands' shapes if these may change. */
export type KernelShape = Shape | ((...shapes: Shape[]) => Shape);

/**
 * (gradient of the result, operands, result) → the gradient of each operand, null if it has none; for a single operand,
 * not in an array. May only contain ops on these tensors, because programs call it when they are compiled.
 */
export type KernelGradient = (
  gradient: Tensor,
  operands: readonly Tensor[],
  result: Tensor,
) => Tensor | null | readonly (Tensor | null)[];

type KernelCall = (...operands: Tensor[]) => Tensor;

const calls = new WeakSet<object>();

/** Whether the function runs a user kernel, whose op a trace appends to the program. */
export function isKernelCall(fn: object): boolean {
  return calls.has(fn);
}

/** The element dtypes that GPU buffers can be read as. */
const readable: ReadonlySet<DType> = new Set<DType>(['float32', 'int32', 'uint8', 'bool']);

let kernelCount = 0;

/**
 * Runs the kernel as a separate op. `gradient` is null if the result is a constant, undefined if requesting a
 * gradient is an error.
 */
export function kernelCall(
  kernel: UserKernel,
  shape: KernelShape,
  gradient: KernelGradient | null | undefined,
): KernelCall {
  const { name, parameters } = kernel;
  const { ranks } = kernel.code;
  // A parameter may be named like a result.
  const operandNames = parameters.map((parameter) => (parameter === 'out' ? 'out_' : parameter));
  const op: OpRecord = {
    // Passes identify ops by name, but two kernels may have the same name.
    name: `gpuKernel:${name}#${++kernelCount}`,
    operands: operandNames.map((operand) => ({ name: operand, use: 'data' })),
    variadic: false,
    infer: (operands) => {
      for (const [i, operand] of operands.entries()) {
        expectReadable(name, parameters[i]!, ranks[i]!, operand);
      }
      return [{ dtype: 'float32', shape: resultShape(name, shape, operands) }];
    },
    kernel: { kind: 'user', kernel },
    layout: 'any',
    inPlace: false,
    // Assumes more work than a pointwise op, without counting loops.
    work: (_inputs, [out]) => sizeOf(out!.shape) * 64,
    vjp: gradient ? gradientsOf(name, operandNames, gradient) : undefined,
  };
  const call = (...operands: Tensor[]): Tensor => {
    if (operands.length !== parameters.length) throw wrongCount(name, parameters, operands.length);
    for (const operand of operands) expectTensor(op, operand);
    const needs = operands.findIndex(({ requiresGrad }) => requiresGrad);
    if (gradient === undefined && needs >= 0 && gradEnabled())
      throw noGradient(name, parameters[needs]!);
    return bind1(op, operands);
  };
  calls.add(call);
  return call;
}

/** Returns one gradient rule per operand, each of which selects from the user function's result for all operands. */
function gradientsOf(
  name: string,
  operands: readonly string[],
  gradient: KernelGradient,
): Readonly<Record<string, Gradient>> {
  const saves = Object.fromEntries([...operands, 'out'].map((each) => [each, 'value'] as const));
  const rules = operands.map((operand, i): [string, Gradient] => {
    const rule: Gradient['rule'] = (saved, dy) => {
      const values = operands.map((each) => saved[each]!);
      const found = gradient(dy, values, saved.out!);
      const own = found instanceof Tensor || found === null ? (i === 0 ? found : null) : found[i];
      return expectGradient(name, operand, values[i]!, own ?? zerosLike(values[i]!));
    };
    return [operand, { saves, rule }];
  });
  return Object.fromEntries(rules);
}

function expectGradient(name: string, operand: string, of: Tensor, found: Tensor): Tensor {
  if (found.dtype === of.dtype && sameShape(found.shape, of.shape)) return found;
  throw new ShapeError({
    what: `gpuKernel: the gradient of ${name} does not fit the operand ${operand}`,
    given: `a ${formatSpec(found)} tensor`,
    expected: formatSpec(of),
    remedy: 'return one gradient per operand, in their order, each of its shape',
  });
}

function resultShape(name: string, shape: KernelShape, operands: readonly TensorMeta[]): Shape {
  const shapes = operands.map((operand) => [...operand.shape]);
  const found: unknown = typeof shape === 'function' ? shape(...shapes) : shape;
  const isShape =
    Array.isArray(found) &&
    found.length <= 3 &&
    found.every((size) => Number.isInteger(size) && size >= 0) &&
    sizeOf(found as Shape) <= 2 ** 24;
  if (isShape) return [...(found as Shape)];
  throw new ShapeError({
    what: `gpuKernel: ${name} has no such result`,
    given: `shape ${Array.isArray(found) ? `[${found.join(', ')}]` : String(found)}`,
    expected: 'up to three sizes, with at most 2^24 elements',
    remedy: 'return an array of integers from shape, and reshape the result for more dimensions',
  });
}

function expectReadable(
  name: string,
  parameter: string,
  rank: number | null,
  operand: TensorMeta,
): void {
  if (!readable.has(operand.dtype)) {
    throw new DTypeError({
      what: `gpuKernel: ${name} can't read ${parameter}`,
      given: `a ${formatSpec(operand)} tensor`,
      expected: [...readable].join(', '),
      remedy: `pass ${parameter}.to('float32')`,
    });
  }
  if (rank === null || operand.shape.length === rank) return;
  throw new ShapeError({
    what: `gpuKernel: ${name} can't read ${parameter}`,
    given: `a ${formatSpec(operand)} tensor`,
    expected: `${rank} ${rank === 1 ? 'dimension' : 'dimensions'}, as many as the function indexes`,
    remedy: `index every dimension of ${parameter}, the outermost first, or reshape it`,
  });
}

function wrongCount(name: string, parameters: readonly string[], given: number): ShapeError {
  return new ShapeError({
    what: `gpuKernel: ${name} called with a wrong number of operands`,
    given: `${given} operands`,
    expected: `${parameters.length}: ${parameters.join(', ')}`,
    remedy: 'pass one tensor per parameter of the function',
  });
}

function noGradient(name: string, parameter: string): AutogradError {
  return new AutogradError({
    what: `gpuKernel: ${name} has no gradient`,
    given: `${parameter}, which requires one`,
    expected: 'operands that require no gradient, or a kernel with one',
    remedy: 'pass gradient to gpuKernel, or call the kernel inside of noGrad()',
  });
}
