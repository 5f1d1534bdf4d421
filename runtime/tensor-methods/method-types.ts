/** Return types of tensor methods, as far as they follow from the dtype. */

import type { SortOptions, TopkOptions, ValuesAndPlaces } from '../ops/reduce/order.ts';
import type { DType } from '../spec/dtype.ts';
import type { Floating, Promoted, RealOf, SumOf } from '../spec/dtype-types.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Methods } from './methods.ts';

/** Return booleans. */
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

/** Answer places or counts. */
type Counts = 'argmax' | 'argmin' | 'argsort' | 'argwhere' | 'countNonzero' | 'int' | 'long';

/** Return what they are given, moved, chosen or of another sign; writes return their target. */
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

/** Answer real numbers. */
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

/** Integers and booleans are added and multiplied as int32. */
type Sums = 'sum' | 'prod' | 'cumsum' | 'cumprod';

/** Take a tensor or a number. */
type Joining =
  | 'add'
  | 'sub'
  | 'mul'
  | 'subtract'
  | 'multiply'
  | 'floorDivide'
  | 'remainder'
  | 'fmod';

type Casts = { float: 'float32'; double: 'float64'; byte: 'uint8'; half: 'float16' } & {
  bfloat16: 'bfloat16';
};

type Rest<F> = F extends (first: Tensor, ...rest: infer R) => unknown ? R : never;
type Tail<F> = F extends (first: Tensor, second: never, ...rest: infer R) => unknown ? R : never;

/** One tensor, several, or values and places, of one dtype. */
type Same<R, D extends DType> = R extends Tensor
  ? Tensor<D>
  : R extends readonly Tensor[]
    ? Tensor<D>[]
    : R;

/** An unknown dtype gives an unknown dtype. */
type Of<D extends DType, R extends DType> = DType extends D ? Tensor : Tensor<R>;

type Answer<N, R, D extends DType> = N extends keyof Casts
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

type OfTwo<D extends DType, O extends DType> = DType extends O ? Tensor : Of<D, Promoted<D, O>>;

/** With a number, integers may become float32: TypeScript does not distinguish 2 from 2.5. */
type WithNumber<D extends DType> = D extends Floating ? Tensor<D> : Tensor;

/** Overloads by the second operand: another tensor, a number, or either. */
interface Join<D extends DType, More extends unknown[]> {
  <O extends DType>(other: Tensor<O>, ...more: More): OfTwo<D, O>;
  (other: number, ...more: More): WithNumber<D>;
  (other: Tensor | number, ...more: More): Tensor;
}

type OpMethods<D extends DType> = {
  [N in Exclude<keyof Methods, 'sort' | 'topk' | 'kthvalue'>]: N extends Joining
    ? Join<D, Tail<Methods[N]>>
    : (...rest: Rest<Methods[N]>) => Answer<N, ReturnType<Methods[N]>, D>;
};

/** Methods whose signatures say more than the functions': several dtypes in one result, and overloads. */
export interface TensorMethods<D extends DType> extends OpMethods<D> {
  /** 1 with the probability that each element holds, else 0. */
  bernoulli(): Of<D, RealOf<D>>;
  /** Indices drawn with the weights that each row holds. */
  multinomial(draws: number, replacement?: boolean): Tensor<'int32'>;
  /** Overwritten with numbers that are uniform in [low, high). */
  uniform_(low?: number, high?: number): Tensor<D>;
  /** Overwritten with normal numbers. */
  normal_(center?: number, deviation?: number): Tensor<D>;
  /** Overwritten with numbers of the exponential distribution. */
  exponential_(rate?: number): Tensor<D>;
  /** Overwritten with exponentials of normal numbers. */
  logNormal_(center?: number, deviation?: number): Tensor<D>;
  /** Overwritten with numbers of the Cauchy distribution. */
  cauchy_(center?: number, scale?: number): Tensor<D>;
  /** Overwritten with 1, with the given probability (0.5 by default), and 0 otherwise. */
  bernoulli_(probability?: number | Tensor): Tensor<D>;
  /** Overwritten with integers from `low` up to, but without, `high`. */
  random_(low: number, high: number): Tensor<D>;
  /** The dimensions in reverse. */
  readonly T: Tensor<D>;
  /** The last two dimensions swapped. */
  readonly mT: Tensor<D>;
  /** The extreme of a whole tensor, of two tensors elementwise, or `[values, indices]` along a dimension. */
  max(): Tensor<D>;
  max<O extends DType>(other: Tensor<O>): OfTwo<D, O>;
  max(dim: number, keepDim?: boolean): [values: Tensor<D>, indices: Tensor<'int32'>];
  min(): Tensor<D>;
  min<O extends DType>(other: Tensor<O>): OfTwo<D, O>;
  min(dim: number, keepDim?: boolean): [values: Tensor<D>, indices: Tensor<'int32'>];
  /** All values of a dimension in order, and where they were. */
  sort(dim?: number | SortOptions, descending?: boolean | SortOptions): ValuesAndPlaces<D>;
  /** The `k` largest (or smallest) values of a dimension, and where they were. */
  topk(k: number, dim?: number | TopkOptions, largest?: boolean | TopkOptions): ValuesAndPlaces<D>;
  /** The k-th smallest value of a dimension, counted from 1, and where it is. */
  kthvalue(k: number, dim?: number, keepDim?: boolean): ValuesAndPlaces<D>;
  /** The middle value: of all elements, or `[values, indices]` along a dimension. */
  median(): Tensor<D>;
  median(dim: number, keepDim?: boolean): [values: Tensor<D>, indices: Tensor<'int32'>];
  nanmedian(): Tensor<D>;
  nanmedian(dim: number, keepDim?: boolean): [values: Tensor<D>, indices: Tensor<'int32'>];
}
