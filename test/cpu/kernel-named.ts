/** The CPU's kernels by name, for tests and benchmarks. */

import * as conv from '../../runtime/device/cpu/conv/conv.ts';
import * as product from '../../runtime/device/cpu/matmul.ts';
import * as copies from '../../runtime/device/cpu/movement/copies.ts';
import * as indexing from '../../runtime/device/cpu/movement/indexing.ts';
import * as rearrange from '../../runtime/device/cpu/movement/rearrange.ts';
import * as orders from '../../runtime/device/cpu/order.ts';
import * as pools from '../../runtime/device/cpu/pool.ts';
import * as random from '../../runtime/device/cpu/random.ts';
import * as reductions from '../../runtime/device/cpu/reduce.ts';
import * as resampling from '../../runtime/device/cpu/resample.ts';
import * as bits from '../../runtime/device/cpu/scalar/bits.ts';
import * as cofactor from '../../runtime/device/cpu/scalar/cofactors.ts';
import * as elimination from '../../runtime/device/cpu/scalar/elimination.ts';
import * as filling from '../../runtime/device/cpu/scalar/fill.ts';
import * as gammaSlopes from '../../runtime/device/cpu/scalar/gamma-slope.ts';
import * as integerPairs from '../../runtime/device/cpu/scalar/integer-pairs.ts';
import * as losses from '../../runtime/device/cpu/scalar/loss.ts';
import * as lu from '../../runtime/device/cpu/scalar/lu-factors.ts';
import * as exponential from '../../runtime/device/cpu/scalar/matrix-exponential.ts';
import * as orthogonal from '../../runtime/device/cpu/scalar/orthogonal.ts';
import * as gammas from '../../runtime/device/cpu/scalar/polygamma.ts';
import * as quantization from '../../runtime/device/cpu/scalar/quantize.ts';
import * as places from '../../runtime/device/cpu/scalar/reduce.ts';
import * as scans from '../../runtime/device/cpu/scalar/scan.ts';
import * as singularValues from '../../runtime/device/cpu/scalar/singular-values.ts';
import * as symmetricEigen from '../../runtime/device/cpu/scalar/symmetric-eigen.ts';
import * as triangles from '../../runtime/device/cpu/scalar/triangular.ts';
import * as softmaxes from '../../runtime/device/cpu/softmax.ts';
import * as standardization from '../../runtime/device/cpu/standardize.ts';
import type { KernelName } from '../../runtime/device/kernel-names.ts';
import type { KernelFactory } from '../../runtime/device/kernel-op.ts';

/** A name without a kernel fails to compile. */
export const kernelNamed: { readonly [N in KernelName]: KernelFactory } = {
  // Kernels in JavaScript that others replace come first.
  ...filling,
  ...losses,
  ...conv,
  ...product,
  ...copies,
  ...indexing,
  ...rearrange,
  ...pools,
  ...random,
  ...reductions,
  ...bits,
  ...cofactor,
  ...elimination,
  ...lu,
  ...exponential,
  nllLossOfScores: losses.nllLoss,
  ...orders,
  ...gammas,
  ...gammaSlopes,
  ...quantization,
  ...places,
  ...resampling,
  ...scans,
  ...singularValues,
  ...integerPairs,
  ...orthogonal,
  ...symmetricEigen,
  ...triangles,
  ...softmaxes,
  ...standardization,
};
