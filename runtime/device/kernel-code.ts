/** A user kernel as data: parsed from the function by `gpuKernel`, executed by devices. */

/** An axis of `this.thread`: x is the last dimension of the result. */
export type KernelAxis = 0 | 1 | 2;

export type KernelUnaryFn =
  | 'neg'
  | 'abs'
  | 'acos'
  | 'acosh'
  | 'asin'
  | 'asinh'
  | 'atan'
  | 'atanh'
  | 'ceil'
  | 'cos'
  | 'cosh'
  | 'exp'
  | 'expm1'
  | 'floor'
  | 'log'
  | 'log10'
  | 'log1p'
  | 'log2'
  | 'round'
  | 'sign'
  | 'sin'
  | 'sinh'
  | 'sqrt'
  | 'tan'
  | 'tanh'
  | 'trunc';

export type KernelBinaryFn =
  | 'add'
  | 'sub'
  | 'mul'
  | 'div'
  | 'rem'
  | 'pow'
  | 'min'
  | 'max'
  | 'atan2';

export type KernelCompareFn = 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge';

/** A float32 expression. */
export type KernelNumber =
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'thread'; readonly axis: KernelAxis }
  /** The size of the result along an axis. */
  | { readonly kind: 'size'; readonly axis: KernelAxis }
  | { readonly kind: 'local'; readonly id: number }
  /** NaN outside the input; fractional indices are rounded down. */
  | { readonly kind: 'element'; readonly input: number; readonly at: readonly KernelNumber[] }
  | { readonly kind: 'unary'; readonly fn: KernelUnaryFn; readonly x: KernelNumber }
  | {
      readonly kind: 'binary';
      readonly fn: KernelBinaryFn;
      readonly x: KernelNumber;
      readonly y: KernelNumber;
    }
  | {
      readonly kind: 'choose';
      readonly test: KernelTest;
      readonly yes: KernelNumber;
      readonly no: KernelNumber;
    };

/** A boolean expression. */
export type KernelTest =
  | { readonly kind: 'always'; readonly value: boolean }
  | {
      readonly kind: 'compare';
      readonly fn: KernelCompareFn;
      readonly x: KernelNumber;
      readonly y: KernelNumber;
    }
  | { readonly kind: 'both' | 'either'; readonly x: KernelTest; readonly y: KernelTest }
  | { readonly kind: 'not'; readonly x: KernelTest };

export type KernelStatement =
  | { readonly kind: 'set'; readonly id: number; readonly value: KernelNumber }
  | {
      readonly kind: 'if';
      readonly test: KernelTest;
      readonly yes: readonly KernelStatement[];
      readonly no: readonly KernelStatement[];
    }
  /** `test` runs before or after each iteration; `update` runs after each, including after `continue`. */
  | {
      readonly kind: 'loop';
      readonly test: KernelTest;
      readonly testFirst: boolean;
      readonly body: readonly KernelStatement[];
      readonly update: readonly KernelStatement[];
    }
  | { readonly kind: 'break' | 'continue' }
  | { readonly kind: 'return'; readonly value: KernelNumber };

export interface KernelCode {
  /** The number of indices of each operand; null if the function never reads it. */
  readonly ranks: readonly (number | null)[];
  /** The number of local variables, initialized to 0. */
  readonly locals: number;
  readonly body: readonly KernelStatement[];
}

/** Returns the sizes along x, y and z of a result of this shape. */
export function axisSizes(shape: readonly number[]): readonly [number, number, number] {
  return [shape.at(-1) ?? 1, shape.at(-2) ?? 1, shape.at(-3) ?? 1];
}

/** Whether an index into a dimension of `size` is known to be in range without a check. */
export function isSurelyInside(
  at: KernelNumber,
  size: number,
  sizes: readonly [number, number, number],
): boolean {
  if (at.kind === 'thread') return sizes[at.axis] <= size;
  return at.kind === 'number' && Number.isInteger(at.value) && at.value >= 0 && at.value < size;
}
