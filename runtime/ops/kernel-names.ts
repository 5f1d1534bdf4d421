/**
 * Kernels that devices write by hand. A device's table is a mapped type over this union, so that a
 * missing kernel fails to compile.
 */
export type KernelName =
  /** () → out; attr `value`. */
  | 'fill'
  /** () → out, float32 from the counter-based generator; attrs `seed`, `offset`: uniform in [0,1). */
  | 'uniform'
  /** The same, standard normal. */
  | 'normal'
  /** (x, any strides) → contiguous copy of the same dtype. */
  | 'copy'
  /** In place: (target, source) source broadcast into target; dtypes equal. */
  | 'copyInto'
  /** (x) → reduced over attr `dims` (sorted, not empty); attr `keepDim`. float32 partial sums. */
  | 'sum'
  /** (x, any strides; like: shape) → sum over the dimensions that broadcasting `like` to x repeats. */
  | 'sumTo'
  | 'max'
  /** (x) → int32 index of the first maximum along attr `dim`. */
  | 'argmax'
  /** (dy, x: shape) → zeros of x's shape with dy at attrs `dim`, `start`. */
  | 'narrowGrad'
  /** (a [...,m,k], b [...,k,n]) → [...,m,n]; any strides; leading dimensions equal. */
  | 'matmul'
  /** (x, w) NCHW; attrs `stride`, `padding`, `dilation` (pairs), `groups`. */
  | 'conv2d'
  /** (dy, w, x: shape) → dx */
  | 'conv2dInputGrad'
  /** (dy, x, w: shape) → dw */
  | 'conv2dWeightGrad'
  /** (x) → [out, indices int32 in the input plane]; attrs `kernel`, `stride`, `padding` (pairs). */
  | 'maxPool2d'
  /** (dy, indices, x: shape) → dx */
  | 'maxPool2dGrad'
  /** (x) → log-softmax along the last dimension. */
  | 'logSoftmax'
  /** (dy, out) → dx = dy − exp(out)·sum(dy) along the last dimension. */
  | 'logSoftmaxGrad'
  | 'softmax'
  /** (dy, out) → dx = (dy − sum(dy·out))·out along the last dimension. */
  | 'softmaxGrad'
  /** (logProbs [n,c], target int32 [n]) → [] mean of −logProbs[i, target[i]]. */
  | 'nllLoss'
  /** (dy [], target, logProbs: shape) → [n,c] */
  | 'nllLossGrad';
