/** PyTorch functions composed of ops. Capture inlines them like user functions. */

export {
  type Conv3dOptions,
  type ConvTranspose3dOptions,
  conv3d,
  convTranspose3d,
} from './convolution-3d.ts';
export { type CtcLossOptions, ctcLoss, type Lengths } from './ctc-loss.ts';
export { type DerivativeOptions, hessian, hvp, jacobian, jvp, vjp } from './derivatives.ts';
export { dropout1d, dropout2d, dropout3d } from './dropout.ts';
export { type EmbeddingBagOptions, embeddingBag } from './embedding-bag.ts';
export { setGradEnabled } from './grad-enabled.ts';
export { affineGrid, type GridSampleOptions, gridSample } from './grid-sample.ts';
export { type GumbelSoftmaxOptions, gumbelSoftmax } from './gumbel-softmax.ts';
export { type LPPoolOptions, lpPool1d, lpPool2d, lpPool3d } from './lp-pooling.ts';
export { type MaxUnpoolOptions, maxUnpool1d, maxUnpool2d, maxUnpool3d } from './max-unpool.ts';
export { multilabelMarginLoss } from './multilabel-margin.ts';
export { adaptiveMaxPool3d, type MaxPool3dOptions, maxPool3d } from './pooling-3d.ts';
export { multiDot, vecdot } from './products.ts';
export { blockDiag, cartesianProd, combinations, diagflat, logspace, pdist } from './tensors.ts';
export { type TripletDistanceOptions, tripletMarginWithDistanceLoss } from './triplet-distance.ts';
export { type VmapOptions, vmap } from './vmap.ts';
export {
  bartlettWindow,
  blackmanWindow,
  hammingWindow,
  hannWindow,
  kaiserWindow,
  type WindowOptions,
} from './windows.ts';
