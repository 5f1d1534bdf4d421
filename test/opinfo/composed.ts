/** Functions of `runtime/functional` by PyTorch's names: the samples have none of them, `test/functional` compares them with plain loops. */
export const composed: Readonly<Record<string, string>> = {
  block_diag: 'blockDiag(...matrices)',
  cartesian_prod: 'cartesianProd(...vectors)',
  combinations: 'combinations(x, r, withReplacement)',
  diagflat: 'diagflat(x, offset)',
  logspace: 'logspace(start, end, steps, { base, dtype })',
  'nn.functional.affine_grid': 'affineGrid(theta, size, { alignCorners })',
  'nn.functional.conv3d': 'conv3d(x, weight, bias, { stride, padding, dilation, groups })',
  'nn.functional.ctc_loss':
    'ctcLoss(logProbs, targets, inputLengths, targetLengths, { blank, reduction, zeroInfinity })',
  'nn.functional.dropout1d': 'dropout1d(x, p, training)',
  'nn.functional.dropout2d': 'dropout2d(x, p, training)',
  'nn.functional.dropout3d': 'dropout3d(x, p, training)',
  'nn.functional.embedding_bag':
    'embeddingBag(weight, indices, { offsets, mode, perSampleWeights, paddingIdx, maxNorm, normType, scaleGradByFreq, includeLastOffset })',
  'nn.functional.grid_sample': 'gridSample(x, grid, { mode, paddingMode, alignCorners })',
  'nn.functional.gumbel_softmax': 'gumbelSoftmax(logits, { tau, hard, dim })',
  'nn.functional.max_pool3d': 'maxPool3d(x, kernel, { stride, padding, dilation, ceilMode })',
  'nn.functional.pdist': 'pdist(x, p)',
  set_grad_enabled: 'setGradEnabled(enabled, body)',
};
