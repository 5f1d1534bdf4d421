import { lazily } from '../wasm/assembler/module-builder.ts';
import { type ConvShape, hasNoTerms } from './shape.ts';

/** Tables of convolutions take memory of their own; models have fewer kinds than this. */
const most = 256;

/**
 * Calls `make` once for each convolution's sizes: eager ops bind their kernel at every call, and its tables depend on
 * the sizes alone. Null for sums without terms, too: generated kernels store a sum with its first terms, scalar ones
 * begin with zeros.
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
