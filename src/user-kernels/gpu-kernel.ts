import { userKernel as onCpu } from '../../runtime/device/cpu/user-kernel.ts';
import type { KernelThis } from '../../runtime/device/user-kernel.ts';
import { ArgumentError } from '../../runtime/errors/errors.ts';
import { expectOptions } from '../../runtime/options/expect-options.ts';
import { callback, either, orNull, that } from '../../runtime/options/option-kinds.ts';
import type { Shape } from '../../runtime/spec/shape.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import {
  type KernelGradient,
  type KernelShape,
  kernelCall,
} from '../../runtime/user-kernels/kernel-op.ts';
import {
  type AnyFunction,
  type CapturedFunction,
  captureFunction,
  isRefusal,
} from '../1-capture/capture.ts';
import { readKernel } from './read-kernel.ts';

/** An operand inside a kernel function: a number, or nested arrays indexed row by row. */
export type KernelOperand =
  | number
  | readonly number[]
  | readonly number[][]
  | readonly number[][][];

type Each<Operands extends readonly KernelOperand[], T> = { [I in keyof Operands]: T };

export interface GpuKernelOptions<
  Constants extends Readonly<Record<string, number>> = Readonly<Record<string, number>>,
  Operands extends readonly KernelOperand[] = readonly KernelOperand[],
> {
  /** The result's shape, of up to three sizes: an array, or a function of the operands' shapes. */
  readonly shape: Shape | ((...shapes: Each<Operands, Shape>) => Shape);
  /**
   * Returns the gradients of the operands, computed by ops or other kernels; null if the result is a constant. If
   * omitted, operands that require a gradient throw an AutogradError. It receives the gradient of the result, the
   * operands and the result, and returns one gradient per operand, or null. Called when programs are compiled, so it
   * must depend on nothing else.
   */
  readonly gradient?:
    | ((
        gradient: Tensor,
        operands: Each<Operands, Tensor>,
        result: Tensor,
      ) => Tensor | null | readonly (Tensor | null)[])
    | null;
  /** Numbers that the function reads as `this.constants.name`. */
  readonly constants?: Constants;
  /** The name in programs and error messages; the function's own name by default. */
  readonly name?: string;
}

const isNumber = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value);

/**
 * Creates an op from a plain JavaScript function that computes one element of its float32 result:
 *
 *     const product = gpuKernel(
 *       function (a, b) {
 *         let sum = 0;
 *         for (let k = 0; k < this.constants.n; k++) sum += a[this.thread.y][k] * b[k][this.thread.x];
 *         return sum;
 *       },
 *       { shape: (a, b) => [a[0], b[1]], constants: { n: 64 } },
 *     );
 *
 * On a GPU, gpu.js compiles the function and each element is a thread; on a CPU its code is computed per element.
 * Operands (float32, int32, uint8 or bool) are nested arrays inside: `a[this.thread.y][this.thread.x]`. The
 * function may read only its operands, local variables, `this.thread`, `this.output`, `this.constants`, `Math` and
 * constant numbers in its scope. Every operation is rounded to float32, on every device; an element outside an
 * operand is NaN.
 *
 * Throws ArgumentError, with its line, for a function that is not a kernel.
 */
export function gpuKernel<
  const Constants extends Readonly<Record<string, number>>,
  Operands extends readonly KernelOperand[],
>(
  fn: (this: KernelThis<Constants>, ...operands: Operands) => number,
  options: GpuKernelOptions<Constants, Operands>,
): (...operands: Each<Operands, Tensor>) => Tensor {
  expectOptions<GpuKernelOptions<Constants, Operands>>('gpuKernel', options, {
    shape: either(
      callback,
      that('up to three sizes', (value) => Array.isArray(value) && value.every(isNumber)),
    ),
    gradient: orNull(callback),
    constants: that(
      'an object of numbers',
      (value) =>
        typeof value === 'object' && value !== null && Object.values(value).every(isNumber),
    ),
    name: that('a name', (value) => typeof value === 'string' && value !== ''),
  });
  if (options.shape === undefined) throw noShape();
  const constants: Readonly<Record<string, number>> = { ...options.constants };
  const captured = capturedKernel(fn as unknown as AnyFunction);
  const { parameters, code } = readKernel(captured, constants);
  const kernel = { name: options.name ?? (captured.name || 'kernel'), parameters, code, onCpu };
  const call: (...operands: never[]) => Tensor = kernelCall(
    kernel,
    options.shape as KernelShape,
    options.gradient as KernelGradient | null | undefined,
  );
  return call as (...operands: Each<Operands, Tensor>) => Tensor;
}

function capturedKernel(fn: AnyFunction): CapturedFunction {
  if (typeof fn !== 'function') throw notAFunction(fn);
  const captured = captureFunction(fn);
  if (!isRefusal(captured) && !captured.bound) return captured;
  throw new ArgumentError({
    what: `gpuKernel: the source of ${fn.name || 'the function'} can't be had`,
    given: isRefusal(captured) ? captured.detail : 'a bound function',
    expected: 'a function of plain JavaScript',
    remedy: 'pass a function expression or declaration that was not bound or wrapped',
  });
}

function noShape(): ArgumentError {
  return new ArgumentError({
    what: 'gpuKernel: the shape of the result is missing',
    given: 'options without shape',
    expected: 'an array of sizes, or a function of the shapes of the operands',
    remedy: 'for a result like the first operand: { shape: (a) => a }',
  });
}

function notAFunction(fn: unknown): ArgumentError {
  return new ArgumentError({
    what: 'gpuKernel: no function to make a kernel of',
    given: fn === null ? 'null' : typeof fn,
    expected: 'a function that computes one element: function (a) { return a[this.thread.x] * 2; }',
    remedy: 'pass the function first, then the options',
  });
}
