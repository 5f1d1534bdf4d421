/** Return types of tensor methods, where they follow from the dtype. */

import type { SortOptions, TopkOptions, ValuesAndIndices } from '../ops/reduce/order.ts';
import type { DType } from '../spec/dtype.ts';
import type { Floating, Promoted, RealOf, SumOf } from '../spec/dtype-types.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Methods } from './methods.ts';

/** Methods that return booleans. */
type Truths =
  | 'eq'
  | 'ne'
  | 'lt'
  | 'le'
  | 'gt'
  | 'ge'
  | 'logicalAnd'
  | 'logicalOr'
  | 'logicalXor'
  | 'logicalNot'
  | 'isnan'
  | 'isinf'
  | 'isfinite'
  | 'isposinf'
  | 'isneginf'
  | 'isin'
  | 'greater'
  | 'greaterEqual'
  | 'less'
  | 'lessEqual'
  | 'notEqual'
  | 'any'
  | 'all'
  | 'bool';

/** Methods that return indices or counts. */
type Counts = 'argmax' | 'argmin' | 'argsort' | 'argwhere' | 'countNonzero' | 'int' | 'long';

/** Methods that return their input's values moved, selected or negated; in-place writes return their target. */
type Kept =
  | 'absolute'
  | 'negative'
  | 'sgn'
  | 'fix'
  | 'ravel'
  | 'reshapeAs'
  | 'cpu'
  | 'splitWithSizes'
  | 'fillDiagonal_'
  | 'adjoint'
  | 'swapdims'
  | 'hsplit'
  | 'vsplit'
  | 'dsplit'
  | 'neg'
  | 'abs'
  | 'sign'
  | 'relu'
  | 'floor'
  | 'ceil'
  | 'trunc'
  | 'round'
  | 'contiguous'
  | 'amax'
  | 'amin'
  | 'expand'
  | 'expandAs'
  | 'broadcastTo'
  | 'reshape'
  | 'view'
  | 'viewAs'
  | 'flatten'
  | 'unflatten'
  | 'squeeze'
  | 'unsqueeze'
  | 'permute'
  | 'transpose'
  | 'swapaxes'
  | 'movedim'
  | 'moveaxis'
  | 't'
  | 'narrow'
  | 'select'
  | 'slice'
  | 'unfold'
  | 'diagonal'
  | 'diag'
  | 'diagEmbed'
  | 'split'
  | 'chunk'
  | 'tensorSplit'
  | 'unbind'
  | 'repeat'
  | 'tile'
  | 'repeatInterleave'
  | 'flip'
  | 'fliplr'
  | 'flipud'
  | 'roll'
  | 'rot90'
  | 'tril'
  | 'triu'
  | 'gather'
  | 'takeAlongDim'
  | 'take'
  | 'indexSelect'
  | 'index'
  | 'maskedSelect'
  | 'msort'
  | `${string}_`;

/** Methods that return real numbers. */
type Reals =
  | 'arccos'
  | 'arccosh'
  | 'arcsin'
  | 'arcsinh'
  | 'arctan'
  | 'arctanh'
  | 'exp'
  | 'log'
  | 'sqrt'
  | 'tanh'
  | 'sigmoid'
  | 'rsqrt'
  | 'reciprocal'
  | 'exp2'
  | 'expm1'
  | 'log2'
  | 'log10'
  | 'log1p'
  | 'sin'
  | 'cos'
  | 'tan'
  | 'asin'
  | 'acos'
  | 'atan'
  | 'sinh'
  | 'cosh'
  | 'asinh'
  | 'acosh'
  | 'atanh'
  | 'erf'
  | 'erfc'
  | 'softmax'
  | 'logSoftmax'
  | 'mean'
  | 'inverse'
  | 'det'
  | 'logdet'
  | 'cholesky';

/** Methods that sum or multiply: integers and booleans become int32. */
type Sums = 'sum' | 'prod' | 'cumsum' | 'cumprod';

/** Methods that accept a tensor or a number. */
type Joining =
  | 'add'
  | 'sub'
  | 'mul'
  | 'subtract'
  | 'multiply'
  | 'floorDivide'
  | 'remainder'
  | 'fmod';

/** Methods that accept a dtype for their result. */
type WithDType = Sums | 'mean' | 'nansum' | 'softmax' | 'logSoftmax' | 'softmin';

type Casts = { float: 'float32'; double: 'float64'; byte: 'uint8'; half: 'float16' } & {
  bfloat16: 'bfloat16';
};

type Rest<F> = F extends (first: Tensor, ...rest: infer R) => unknown ? R : never;
type Tail<F> = F extends (first: Tensor, second: never, ...rest: infer R) => unknown ? R : never;

/** Maps a result to dtype `D`: one tensor, several, or values and indices. */
type Same<R, D extends DType> = R extends Tensor
  ? Tensor<D>
  : R extends readonly Tensor[]
    ? Tensor<D>[]
    : R;

/** Propagates an unknown dtype. */
type Of<D extends DType, R extends DType> = DType extends D ? Tensor : Tensor<R>;

type Result<N, R, D extends DType> = N extends keyof Casts
  ? Tensor<Casts[N]>
  : N extends Truths
    ? Tensor<'bool'>
    : N extends Counts
      ? Tensor<'int32'>
      : N extends Kept
        ? Same<R, D>
        : N extends Reals
          ? Of<D, RealOf<D>>
          : N extends Sums
            ? Of<D, SumOf<D>>
            : R;

/** The result of a method whose last argument may name its dtype. */
type InDType<O, R> = O extends readonly [...unknown[], { readonly dtype: infer T extends DType }]
  ? Tensor<T>
  : R;

type OfTwo<D extends DType, O extends DType> = DType extends O ? Tensor : Of<D, Promoted<D, O>>;

/** With a number, integers may become float32: TypeScript does not distinguish 2 from 2.5. */
type WithNumber<D extends DType> = [D] extends [Floating] ? Tensor<D> : Tensor;

/** Overloads by the second operand: a tensor, a number, or either. */
interface Join<D extends DType, More extends unknown[]> {
  <O extends DType>(other: Tensor<O>, ...more: More): OfTwo<D, O>;
  (other: number, ...more: More): WithNumber<D>;
  (other: Tensor | number, ...more: More): Tensor;
}

type OpMethods<D extends DType> = {
  [N in Exclude<keyof Methods, 'sort' | 'topk' | 'kthvalue' | 'nonzero'>]: N extends Joining
    ? Join<D, Tail<Methods[N]>>
    : N extends WithDType
      ? <const O extends Rest<Methods[N]>>(
          ...rest: O
        ) => InDType<O, Result<N, ReturnType<Methods[N]>, D>>
      : (...rest: Rest<Methods[N]>) => Result<N, ReturnType<Methods[N]>, D>;
};

/** Methods with more precise signatures than their functions: several dtypes in one result, and overloads. */
export interface TensorMethods<D extends DType> extends OpMethods<D> {
  /** Draws 1 with the probability given by each element, else 0. */
  bernoulli(): Of<D, RealOf<D>>;
  /** Draws indices with the weights given by each row. */
  multinomial(draws: number, replacement?: boolean): Tensor<'int32'>;
  /** Overwrites the tensor with uniform numbers in [low, high). */
  uniform_(low?: number, high?: number): Tensor<D>;
  /** Overwrites the tensor with normally distributed numbers. */
  normal_(center?: number, deviation?: number): Tensor<D>;
  /** Overwrites the tensor with exponentially distributed numbers. */
  exponential_(rate?: number): Tensor<D>;
  /** Overwrites the tensor with log-normal numbers: exponentials of normal numbers. */
  logNormal_(center?: number, deviation?: number): Tensor<D>;
  /** Overwrites the tensor with Cauchy-distributed numbers. */
  cauchy_(center?: number, scale?: number): Tensor<D>;
  /** Overwrites each element with 1 with the given probability (0.5 by default), else 0. */
  bernoulli_(probability?: number | Tensor): Tensor<D>;
  /** Overwrites the tensor with integers in [low, high). */
  random_(low: number, high: number): Tensor<D>;
  /** The tensor with its dimensions reversed. */
  readonly T: Tensor<D>;
  /** The tensor with its last two dimensions swapped. */
  readonly mT: Tensor<D>;
  /** Returns the maximum of a whole tensor, of two tensors elementwise, or `[values, indices]` along a dimension. */
  max(): Tensor<D>;
  max<O extends DType>(other: Tensor<O>): OfTwo<D, O>;
  max(dim: number, keepDim?: boolean): [values: Tensor<D>, indices: Tensor<'int32'>];
  min(): Tensor<D>;
  min<O extends DType>(other: Tensor<O>): OfTwo<D, O>;
  min(dim: number, keepDim?: boolean): [values: Tensor<D>, indices: Tensor<'int32'>];
  /** Returns the indices of nonzero elements: [count, dimensions], or with `asTuple` a vector per dimension. */
  nonzero(options: { readonly asTuple: true }): Tensor<'int32'>[];
  nonzero(options?: { readonly asTuple?: false }): Tensor<'int32'>;
  /** Sorts the values along a dimension; also returns their original indices. */
  sort(dim?: number | SortOptions, descending?: boolean | SortOptions): ValuesAndIndices<D>;
  /** Returns the `k` largest (or smallest) values along a dimension, and their indices. */
  topk(k: number, dim?: number | TopkOptions, largest?: boolean | TopkOptions): ValuesAndIndices<D>;
  /** Returns the k-th smallest value along a dimension, counted from 1, and its index. */
  kthvalue(k: number, dim?: number, keepDim?: boolean): ValuesAndIndices<D>;
  /** Returns the median of all elements, or `[values, indices]` along a dimension. */
  median(): Tensor<D>;
  median(dim: number, keepDim?: boolean): [values: Tensor<D>, indices: Tensor<'int32'>];
  nanmedian(): Tensor<D>;
  nanmedian(dim: number, keepDim?: boolean): [values: Tensor<D>, indices: Tensor<'int32'>];
}
