import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { stack } from '../ops/movement/joining.ts';
import { select } from '../ops/movement/movement.ts';
import { expectTensorList } from '../ops/record/expect-tensors.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { isTensor } from '../options/is-tensor.ts';
import { anyInteger, arrayOf, callback, either, orNull } from '../options/option-kinds.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';

export interface VmapOptions {
  /** The mapped dimension of each argument; null for an argument that all calls share. */
  readonly inDims?: number | readonly (number | null)[];
  /** The dimension along which results are stacked; 0 by default. */
  readonly outDims?: number;
}

const kinds: OptionKinds<VmapOptions> = {
  inDims: either(anyInteger, arrayOf(orNull(anyInteger))),
  outDims: anyInteger,
};

const fnKinds = { fn: callback };

type Mapped<R> = R extends Tensor ? Tensor : { -readonly [K in keyof R]: Tensor };

/**
 * Returns a function that calls `fn` for each entry of the mapped dimensions and stacks its results: a tensor or an
 * array of tensors. The calls run one after the other; prefer ops on whole tensors where speed matters.
 */
export function vmap<A extends readonly unknown[], const R extends Tensor | readonly Tensor[]>(
  fn: (...args: A) => R,
  options: VmapOptions = {},
): (...args: A) => Mapped<R> {
  expectArguments('vmap', { fn }, fnKinds);
  expectOptions('vmap', options, kinds);
  const { inDims = 0, outDims = 0 } = options;
  return (...args: A) => {
    const dims = args.map((each, i) => {
      const dim = typeof inDims === 'number' ? inDims : inDims[i];
      return isTensor(each) ? (dim ?? null) : null;
    });
    const sizes = args.flatMap((each, i) => {
      const dim = dims[i];
      return dim === null || dim === undefined ? [] : [(each as Tensor).shape.at(dim)];
    });
    const [size] = sizes;
    if (size === undefined || sizes.some((each) => each !== size)) {
      throw new ShapeError({
        what: 'vmap: no dimension of one size to map over',
        given: sizes.length === 0 ? 'no mapped tensor' : `sizes ${sizes.join(', ')}`,
        expected: 'tensors with as many entries along their mapped dimensions',
        remedy: 'check inDims: null for arguments that all calls share',
      });
    }
    if (size === 0) {
      throw new ArgumentError({
        what: 'vmap: nothing to map over',
        given: 'a dimension without entries',
        expected: 'at least one entry, which decides what the function returns',
        remedy: 'skip empty batches',
      });
    }
    return tidy(() => {
      const results = Array.from({ length: size }, (_, i) =>
        fn(
          ...(args.map((each, at) => {
            const dim = dims[at];
            return dim === null || dim === undefined ? each : select(each as Tensor, dim, i);
          }) as unknown as A),
        ),
      );
      const first = results[0]!;
      if (isTensor(first)) return stack(results as unknown as Tensor[], outDims) as Mapped<R>;
      expectTensorList('vmap', first as readonly Tensor[]);
      return (first as readonly Tensor[]).map((_, which) =>
        stack(
          results.map((each) => (each as readonly Tensor[])[which]!),
          outDims,
        ),
      ) as unknown as Mapped<R>;
    });
  };
}
