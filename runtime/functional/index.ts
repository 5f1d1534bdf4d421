/**
 * Functions of PyTorch's that are made of ops. Captured code follows them as it follows a user's functions, so a program
 * contains those alone that it calls.
 */

export { type Conv3dOptions, conv3d, type MaxPool3dOptions, maxPool3d } from './convolution-3d.ts';
export { type CtcLossOptions, ctcLoss, type Lengths } from './ctc-loss.ts';
export { dropout1d, dropout2d, dropout3d } from './dropout.ts';
export { type EmbeddingBagOptions, embeddingBag } from './embedding-bag.ts';
export { setGradEnabled } from './grad-enabled.ts';
export { affineGrid, type GridSampleOptions, gridSample } from './grid-sample.ts';
export { type GumbelSoftmaxOptions, gumbelSoftmax } from './gumbel-softmax.ts';
export { blockDiag, cartesianProd, combinations, diagflat, logspace, pdist } from './tensors.ts';
