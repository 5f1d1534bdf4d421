/** The ops of programs by family, for pages that load only the families their programs use. */

interface Family {
  /** The names of the family's ops. */
  readonly ops: string;
  readonly load: () => Promise<object>;
}

/**
 * The families besides `families/core.ts`. A family needs no module that only a later family contains, so
 * `build/bundle.ts` can put neighbors into one file. Loading a family defines its ops.
 */
export const families: Readonly<Record<string, Family>> = {
  common: {
    ops:
      'addSum_ sum unreduce div divScalar floor ceil trunc round floorDivide ' +
      'floorDivideScalar floorDivideInt floorDivideIntScalar truncDivide ' +
      'truncDivideScalar truncDivideInt truncDivideIntScalar remainder ' +
      'remainderScalar remainderInt remainderIntScalar fmod fmodScalar fmodInt ' +
      'fmodIntScalar exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan ' +
      'sinh cosh asinh acosh atanh erf erfc rsqrt logicalAnd logicalOr ' +
      'logicalXor logicalNot isnan isinf isfinite tanh tanhGrad sigmoid sigmoidGrad ' +
      'relu reluGrad',
    load: () => import('./families/common.ts'),
  },
  products: { ops: 'matmul addMatmul_', load: () => import('./families/products.ts') },
  softmax: {
    ops:
      'softmaxGrad softmax logSoftmaxGrad logSoftmax nllLossGrad nllLoss nllLossShare ' +
      'crossEntropyGrad labelScores nllLossOfScores',
    load: () => import('./families/softmax.ts'),
  },
  arranging: {
    ops: 'cat asStrided place placeInto arange slice diagonal unfold unfoldGrad',
    load: () => import('./families/arranging.ts'),
  },
  indexing: {
    ops: 'index indexGrad indexPut indexAdd flip roll gather gatherGrad scatter ' + 'scatterAdd',
    load: () => import('./families/indexing.ts'),
  },
  comparisons: {
    ops:
      'eq eqScalar ne neScalar lt ltScalar le leScalar gt gtScalar ge geScalar where ' +
      'keepWhere dropWhere maskedFill',
    load: () => import('./families/comparisons.ts'),
  },
  elementwise: {
    ops:
      'atan2 clamp clampGrad nanToNum xlogy powScalar powBaseScalar pow sqrt reciprocal ' +
      'fmax fmin hypot logaddexpShare logaddexp logaddexp2Share logaddexp2 heaviside ' +
      'copysign signbit eluGrad elu seluGrad selu leakyReluGrad leakyRelu ' +
      'hardtanhGrad hardtanh hardsigmoidGrad hardsigmoid hardswishGrad hardswish ' +
      'siluGrad silu softplusGrad softplus logSigmoidGrad logSigmoid softsignGrad ' +
      'softsign mishGrad mish geluGrad gelu geluTanhGrad geluTanh erfinv polygamma ' +
      'digamma lgamma sinc thresholdGrad threshold hardshrinkGrad hardshrink ' +
      'softshrinkGrad softshrink celuGrad celu prelu',
    load: () => import('./families/elementwise.ts'),
  },
  standardization: {
    ops:
      'standardizeGrad standardizeAffineGrad standardizeWeightGrad ' +
      'addStandardizeWeightGrad_ standardizeByStats standardizeAffineByStats standardize ' +
      'standardizeAffine',
    load: () => import('./families/standardization.ts'),
  },
  convolution: {
    ops: 'conv2dInputGrad conv2dWeightGrad addConv2dWeightGrad_ conv2d convTranspose2d',
    load: () => import('./families/convolution.ts'),
  },
  pooling: {
    ops:
      'maxPool2dGrad maxPool2d maxPool2dCoded maxPool2dCodedGrad adaptiveMaxPool2d ' +
      'resample resampleGrad',
    load: () => import('./families/pooling.ts'),
  },
  orders: {
    ops:
      'scatterReduce max min argmax argmin sort topk cumsum cumprod cumprodGrad prod ' +
      'cummax cummin logcumsumexpGrad logcumsumexp',
    load: () => import('./families/orders.ts'),
  },
  rare: {
    ops:
      'uniform normal drawUniform drawNormal inverse solve solveTriangular cholesky cofactors det logAbsDet packBits ' +
      'luFactors luPivots luRows i0 i1 matrixExp gammaSlope integerPairs symmetricEigen singularVectors orthogonalFactors pseudoinverse ' +
      'unpackBits quantize dequantize scaleGradient neg_ abs_ sign_ exp_ exp2_ expm1_ log_ log2_ log10_ log1p_ sqrt_ ' +
      'rsqrt_ reciprocal_ sin_ cos_ tan_ asin_ acos_ atan_ sinh_ cosh_ tanh_ asinh_ ' +
      'acosh_ atanh_ sigmoid_ relu_ erf_ erfc_ floor_ ceil_ round_ trunc_ div_ ' +
      'divScalar_ pow_ powScalar_ minimum_ maximum_ clamp_ binaryCrossEntropy ' +
      'binaryCrossEntropyWithLogits smoothL1',
    load: () => import('./families/rare.ts'),
  },
};

/** Loads the families of these ops. Ignores unknown names, which the caller reports. */
export async function loadOps(names: ReadonlySet<string>): Promise<void> {
  const needed = Object.values(families).filter(({ ops }) =>
    ops.split(' ').some((name) => names.has(name)),
  );
  await Promise.all(needed.map(({ load }) => load()));
}
