/** `nn.utils`: helpers for training loops. */

export { clipGradNorm_, clipGradsWithNorm_, clipGradValue_, getTotalNorm } from './clip-grad.ts';
export {
  removeWeightNorm,
  type SpectralNormOptions,
  spectralNorm,
  weightNorm,
} from './normed-weights.ts';
export { type OrthogonalOptions, orthogonal } from './orthogonal.ts';
export {
  type PackedSequence,
  type PackOptions,
  type PadPackedOptions,
  packedSequence,
  packPaddedSequence,
  packSequence,
  padPackedSequence,
  unpackSequence,
  unpadSequence,
} from './packed-sequence.ts';
export { type PadSequenceOptions, padSequence } from './pad-sequence.ts';
export {
  isParametrized,
  type Parametrization,
  registerParametrization,
  removeParametrizations,
} from './parametrize.ts';
export { parametersToVector, vectorToParameters } from './vectors.ts';
