/** PyTorch functions composed of ops. Capture follows them like user functions; programs contain only those called. */

export { type Conv3dOptions, conv3d, type MaxPool3dOptions, maxPool3d } from './convolution-3d.ts';
export { type CtcLossOptions, ctcLoss, type Lengths } from './ctc-loss.ts';
export { dropout1d, dropout2d, dropout3d } from './dropout.ts';
export { type EmbeddingBagOptions, embeddingBag } from './embedding-bag.ts';
export { setGradEnabled } from './grad-enabled.ts';
export { affineGrid, type GridSampleOptions, gridSample } from './grid-sample.ts';
export { type GumbelSoftmaxOptions, gumbelSoftmax } from './gumbel-softmax.ts';
export { blockDiag, cartesianProd, combinations, diagflat, logspace, pdist } from './tensors.ts';
