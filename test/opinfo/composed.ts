/** Functions of `runtime/functional` by PyTorch's names: the samples have none of them, `test/functional` compares them with plain loops, or with what PyTorch recorded. */
export const composed: Readonly<Record<string, string>> = {
  'autograd.functional.hessian': 'hessian(fn, inputs, { createGraph })',
  'autograd.functional.hvp': 'hvp(fn, inputs, v, { createGraph })',
  'autograd.functional.jacobian': 'jacobian(fn, inputs, { createGraph })',
  'autograd.functional.jvp': 'jvp(fn, inputs, v, { createGraph })',
  'autograd.functional.vjp': 'vjp(fn, inputs, v, { createGraph })',
  bartlett_window: 'bartlettWindow(length, periodic, { dtype })',
  blackman_window: 'blackmanWindow(length, periodic, { dtype })',
  block_diag: 'blockDiag(...matrices)',
  cartesian_prod: 'cartesianProd(...vectors)',
  combinations: 'combinations(x, r, withReplacement)',
  diagflat: 'diagflat(x, offset)',
  hamming_window: 'hammingWindow(length, periodic, alpha, beta, { dtype })',
  hann_window: 'hannWindow(length, periodic, { dtype })',
  kaiser_window: 'kaiserWindow(length, periodic, beta, { dtype })',
  logspace: 'logspace(start, end, steps, { base, dtype })',
  'func.vmap': 'vmap(fn, { inDims, outDims })',
  'nn.functional.adaptive_max_pool3d': 'adaptiveMaxPool3d(x, size, { returnIndices })',
  'nn.functional.affine_grid': 'affineGrid(theta, size, { alignCorners })',
  'nn.functional.conv3d': 'conv3d(x, weight, bias, { stride, padding, dilation, groups })',
  'nn.functional.conv_transpose3d':
    'convTranspose3d(x, weight, bias, { stride, padding, outputPadding, groups, dilation })',
  'nn.functional.ctc_loss':
    'ctcLoss(logProbs, targets, inputLengths, targetLengths, { blank, reduction, zeroInfinity })',
  'nn.functional.dropout1d': 'dropout1d(x, p, training)',
  'nn.functional.dropout2d': 'dropout2d(x, p, training)',
  'nn.functional.dropout3d': 'dropout3d(x, p, training)',
  'nn.functional.embedding_bag':
    'embeddingBag(weight, indices, { offsets, mode, perSampleWeights, paddingIdx, maxNorm, normType, scaleGradByFreq, includeLastOffset })',
  'nn.functional.grid_sample': 'gridSample(x, grid, { mode, paddingMode, alignCorners })',
  'nn.functional.gumbel_softmax': 'gumbelSoftmax(logits, { tau, hard, dim })',
  'nn.functional.max_pool3d':
    'maxPool3d(x, kernel, { stride, padding, dilation, ceilMode, returnIndices })',
  'nn.functional.max_unpool1d': 'maxUnpool1d(x, indices, kernel, { stride, padding, outputSize })',
  'nn.functional.max_unpool2d': 'maxUnpool2d(x, indices, kernel, { stride, padding, outputSize })',
  'nn.functional.max_unpool3d': 'maxUnpool3d(x, indices, kernel, { stride, padding, outputSize })',
  'nn.functional.multilabel_margin_loss': 'multilabelMarginLoss(x, target, { reduction })',
  'nn.functional.pdist': 'pdist(x, p)',
  'nn.functional.triplet_margin_with_distance_loss':
    'tripletMarginWithDistanceLoss(anchor, positive, negative, { distanceFunction, margin, swap, reduction })',
  set_grad_enabled: 'setGradEnabled(enabled, body)',
};
