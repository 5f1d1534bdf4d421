import { lazily } from '../wasm/assembler/module-builder.ts';
import { type ConvShape, hasNoTerms } from './shape.ts';

/** The maximum number of cached shapes, more than models have: each needs memory for its tables. */
const most = 256;

/**
 * Memoizes `make` by a convolution's sizes: eager ops bind their kernel at every call, but its tables depend only
 * on the sizes. Also returns null for sums without terms: generated kernels store a sum with its first terms,
 * while scalar kernels start with zeros.
 */
export function oncePerShape<T>(make: (shape: ConvShape) => T): (shape: ConvShape) => T | null {
  const all = lazily(() => new Map<string, { readonly made: T | null }>());
  return (shape) => {
    const known = all();
    const { batch, groups, inChannels, outChannels, inSize, outSize } = shape;
    const { kernel, stride, padding, dilation } = shape;
    const key = `${batch} ${groups} ${inChannels} ${outChannels} ${inSize} ${outSize} ${kernel} ${stride} ${padding} ${dilation}`;
    let entry = known.get(key);
    if (!entry) {
      if (known.size === most) known.clear();
      entry = { made: hasNoTerms(shape) ? null : make(shape) };
      known.set(key, entry);
    }
    return entry.made;
  };
}
