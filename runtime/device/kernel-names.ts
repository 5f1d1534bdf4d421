/**
 * Kernels implemented by hand on each device. A device's table is a mapped type over this union, so that a missing
 * kernel fails to compile.
 */
export type KernelName =
  /** () → out; attr `value`. */
  | 'fill'
  /** () → out; attr `values`: every element as stored, in row-major order. */
  | 'literal'
  /** () → out, float32 from the counter-based generator, uniform in [0,1); attrs `seed`, `offset`. */
  | 'uniform'
  /** () → out: like `uniform`, standard normal. */
  | 'normal'
  /** (x, any strides) → contiguous copy of the same dtype. */
  | 'copy'
  /** In place: (target, source): copies source, broadcast, into target; dtypes are equal. */
  | 'copyInto'
  /** (x) → reduced over attr `dims` (sorted, not empty); attr `keepDim`. float32 partial sums. */
  | 'sum'
  /** (x, any strides; like: shape) → the sum over dimensions that broadcasting `like` to x repeats. */
  | 'sumTo'
  /** In place: (out, x) continues a sum over attr `dims`; out has the kept dimensions. float32. */
  | 'addSum'
  | 'max'
  | 'min'
  | 'prod'
  /** (x) → int32 index of the first maximum along attr `dim`. */
  | 'argmax'
  | 'argmin'
  /** (x) → partial sums along attr `dim`, from its end if attr `reverse`. */
  | 'cumsum'
  /** (x) → partial products along attr `dim`. */
  | 'cumprod'
  /** (dy, x) → dx of cumprod along attr `dim`; correct for zeros in x. */
  | 'cumprodGrad'
  /** (x) → [values, int32 indices]: the largest entry so far along attr `dim`, and its last index. */
  | 'cummax'
  | 'cummin'
  /** (x) → ln Σ eˣ up to each entry along attr `dim`. */
  | 'logcumsumexp'
  /** (dy, x, out) → dx of logcumsumexp along attr `dim`. */
  | 'logcumsumexpGrad'
  /** (dy, x: shape) → zeros of x's shape with dy at attrs `dim`, `start`. */
  | 'narrowGrad'
  /** () → out; attrs `count`, `start`, `step`. */
  | 'arange'
  /** (…parts, any strides) → concatenated along attr `dim`. */
  | 'cat'
  /** (x, any strides) → the entries of attr `dims` reversed. */
  | 'flip'
  /** (x, any strides) → the entries of attr `dim` shifted by attr `shift`, an integer, wrapping around. */
  | 'roll'
  /** (x, any strides) → filled with attr `value`, except for x at attrs `strides`, `offset` of the result. */
  | 'place'
  /** (x, source; any strides) → x with source at attrs `strides`, `offset`. */
  | 'placeInto'
  /** (dy, x: shape) → the sum of windows given by attrs `dim`, `step`, `dilation`; a window is dy's last dimension. */
  | 'unfoldGrad'
  /** (x, index int32; any strides) → out[i][j] = x[index[i][j]][j] for attr `dim` 0. */
  | 'gather'
  /** (dy, index, x: shape; any strides) → dx: dy added at the positions of gather. */
  | 'gatherGrad'
  /** (x, index, source; any strides) → x with source at the positions of gather; the last one wins. */
  | 'scatter'
  | 'scatterAdd'
  /** (x, index int32 [k, …n]) → [before, …n, after] from attr `dim` on; with attr `wraps`, −1 is the last entry. */
  | 'index'
  /** (dy, index, x: shape) → dx */
  | 'indexGrad'
  /** (x, index, source) → x with source at the positions of index; the last one wins. */
  | 'indexPut'
  | 'indexAdd'
  /** (x) → [values, int32 indices]: the first attr `count` entries in order along attr `dim`; attr `descending`. */
  | 'sort'
  /**
   * (x, index, source; any strides) → x with source combined at the positions of gather; attrs `reduce` ('prod' |
   * 'max' | 'min'), `includeSelf`.
   */
  | 'scatterReduce'
  /** (x, any strides) → attr `size` entries along attr `dim`, each a weighted sum; attrs of `Taps`. */
  | 'resample'
  /** (dy, x: shape) → dx */
  | 'resampleGrad'
  /**
   * (x, weight?, bias?) → [out, [mean, 1/√(variance + eps)] per group]; attrs of `Groups`, `eps`,
   * `centered`.
   */
  | 'standardize'
  /** (x, stats, weight?, bias?) → out: the same, given the statistics that `standardize` computed. */
  | 'standardizeByStats'
  /** (dy, x, stats, weight?) → dx */
  | 'standardizeGrad'
  /** (dy, x, stats, weight: shape) → dw */
  | 'standardizeWeightGrad'
  /** In place: (dw, dy, x, stats, weight: shape) continues dw; one weight per element of a group. */
  | 'addStandardizeWeightGrad'
  /** (x) → the derivative of digamma of attr `order`. */
  | 'polygamma'
  /** (x, y of one shape) → the function of two integers that attr `fn` names. */
  | 'integerPairs'
  /** (x [.., m, n]) → [.., m + n + 1, k]: U, V and the singular values. */
  | 'singularVectors'
  /** (x [.., m, n]) → its pseudoinverse [.., n, m]; attrs `rtol`, `atol`. */
  | 'pseudoinverse'
  /** (x [.., n, n]) → [.., n + 1, n]: the eigenvectors and eigenvalues of one triangle, mirrored; attr `upper`. */
  | 'symmetricEigen'
  /** (x [.., m, n]) → [.., m + n, k]: Q and Rᵀ; attr `complete`. */
  | 'orthogonalFactors'
  /** (x [.., n, n]) → its inverse. This kernel and the next throw ArgumentError for singular matrices. */
  | 'inverse'
  /** (a [.., n, n], b [.., n, k]) → x with a·x = b. */
  | 'solve'
  /** (a, b) → x: like `solve`, with one triangle of a: attrs `upper`, `unitriangular`. */
  | 'solveTriangular'
  /** (x [.., n, n]) → [..] */
  | 'det'
  /** (x [.., n, n]) → [ln |det x|, its sign]. */
  | 'logAbsDet'
  /** (x [.., m, n]) → [L and U in one matrix, the original row of each row: int32 [.., m]]. */
  | 'luFactors'
  /** (int32 [.., m]: the original row of each row) → int32 [.., k]: the row, from 1 on, that each pivot came from. */
  | 'luPivots'
  /** (pivots: int32 [.., k]) → int32 [.., m]: the original row of each row. */
  | 'luRows'
  /** (x, a) → how gamma-distributed numbers x move with the shape a of their distribution. */
  | 'gammaSlope'
  /** (x [.., n, n]) → Σ xᵏ / k!. */
  | 'matrixExp'
  /** (x [.., n, n]) → det x · x⁻ᵀ, even if x is singular. */
  | 'cofactors'
  /** (x [.., n, n]) → the lower triangular L of L·Lᵀ = x. */
  | 'cholesky'
  /** (x, w, NCHW with w [in, out / groups, …]) → the adjoint of conv2d. */
  | 'convTranspose2d'
  /** (a [...,m,k], b [...,k,n]) → [...,m,n]; any strides; leading dimensions equal. */
  | 'matmul'
  /** In place: (x, a, b) x += a · b; attr `start` is the position along the inner dimension. float32. */
  | 'addMatmul'
  /** (x, w) NCHW; attrs `stride`, `padding`, `dilation` (pairs), `groups`. */
  | 'conv2d'
  /** (dy, w, x: shape) → dx */
  | 'conv2dInputGrad'
  /** (dy, x, w: shape) → dw */
  | 'conv2dWeightGrad'
  /** In place: (dw, dy, x, w: shape) continues dw, image by image. */
  | 'addConv2dWeightGrad'
  /** (x) → [out, int32 indices in the input plane]; attrs `kernel`, `stride`, `padding`, `dilation`, `size` (pairs). */
  | 'maxPool2d'
  /** (x) → [out, indices]: like `maxPool2d`, with uint8 positions relative to the start of each window. */
  | 'maxPool2dCoded'
  /** (x) → [out, indices]: like `maxPool2d`, over attr `size` (a pair) equal parts. */
  | 'adaptiveMaxPool2d'
  /** (dy, indices, x: shape) → dx */
  | 'maxPool2dGrad'
  /** (dy, uint8 positions in the windows, x: shape) → dx; attrs `kernel`, `stride`, `padding`, `dilation` (pairs). */
  | 'maxPool2dCodedGrad'
  /** (x) → log-softmax along the last dimension. */
  | 'logSoftmax'
  /** (dy, out) → dx = dy − exp(out)·sum(dy) along the last dimension. */
  | 'logSoftmaxGrad'
  | 'softmax'
  /** (dy, out) → dx = (dy − sum(dy·out))·out along the last dimension. */
  | 'softmaxGrad'
  /** (logProbs [n,c], target int32 [n]) → [], the mean of −logProbs[i, target[i]]. */
  | 'nllLoss'
  /** (logProbs [n,c], target int32 [n]) → [n], logProbs[i, target[i]]; 0 where the label is no class. */
  | 'labelScores'
  /** (scores [n], target int32 [n]) → [], −the mean over the labels that count; attr `classes`. */
  | 'nllLossOfScores'
  /** (dy [], target, logProbs: shape) → [n,c] */
  | 'nllLossGrad'
  /** (dy [], target) → [], −dy over the number of counted labels. */
  | 'nllLossShare'
  /** (share [], target, logProbs) → [n,c]: (one at the label − exp(logProbs)) · share. */
  | 'crossEntropyGrad'
  /** (x float32) → [uint8 codes, float32 scales]; attr `code` (see quantize.ts). */
  | 'quantize'
  /** (codes, scales) → float32 */
  | 'dequantize'
  /** (x bool) → uint8, eight elements per byte */
  | 'packBits'
  /** (bits) → bool of attr `shape` */
  | 'unpackBits';
