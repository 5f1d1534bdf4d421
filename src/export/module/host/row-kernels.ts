import { convShape } from '../../../../runtime/device/cpu/conv/shape.ts';
import { viewOf } from '../../../../runtime/device/cpu/core/host-kernels.ts';
import { alongDim } from '../../../../runtime/device/cpu/core/reduction.ts';
import { groupsOf } from '../../../../runtime/device/cpu/scalar/standardize.ts';
import type { KernelName } from '../../../../runtime/device/kernel-names.ts';
import type { Attrs } from '../../../../runtime/device/kernel-op.ts';
import type { TensorMeta } from '../../../../runtime/device/tensor-meta.ts';
import { tapsOf } from '../../../../runtime/numerics/taps.ts';
import { dtypes } from '../../../../runtime/spec/dtype.ts';
import { sizeOf } from '../../../../runtime/spec/shape.ts';
import type { HostArgument } from '../actions/actions.ts';
import { type HostFactory, placesOf } from './host-factory.ts';

const softmaxRows =
  (kind: string): HostFactory =>
  (log, inputs, [out]) => {
    const length = out!.shape.at(-1) ?? 1;
    const rows = length === 0 ? 0 : sizeOf(out!.shape) / length;
    return (sources, [target]) => {
      const at = placesOf([...sources, target!], [...inputs, out!]);
      log.host('softmaxRows', [kind, viewOf[out!.dtype], at, rows, length]);
    };
  };

const sizesOf = (attrs: Attrs, weights: number): number[] => {
  const { outer, groups, length, run } = groupsOf(attrs);
  return [outer, groups, length, weights === 0 ? length : run, weights];
};

const standardize: HostFactory = (log, inputs, [out, stats], attrs) => {
  const [x, weight] = inputs;
  const sizes = sizesOf(attrs, weight ? sizeOf(weight.shape) : 0);
  return ([source, ...affine], targets) => {
    const metas = [x!, out!, stats!, ...inputs.slice(1)];
    const at = placesOf([source!, ...targets, ...affine], metas);
    const centered = attrs.centered ? 1 : 0;
    log.host('standardizeGroups', [viewOf[x!.dtype], at, sizes, centered, attrs.eps as number]);
  };
};

const standardizeByStats: HostFactory = (log, inputs, [out], attrs) => {
  const [x, stats, weight, ...bias] = inputs;
  const sizes = sizesOf(attrs, weight ? sizeOf(weight.shape) : 0);
  return ([source, statistics, ...affine], [target]) => {
    const metas = [x!, out!, stats!, ...(weight ? [weight] : []), ...bias];
    const at = placesOf([source!, target!, statistics!, ...affine], metas);
    log.host('standardizeGroupsByStats', [viewOf[x!.dtype], at, sizes]);
  };
};

const standardizeGrad: HostFactory = (log, inputs, [dx], attrs) => {
  const [dy, x, stats, weight] = inputs;
  const sizes = sizesOf(attrs, weight ? sizeOf(weight.shape) : 0);
  return ([grad, source, statistics, w], [target]) => {
    const operands = [grad!, source!, target!, statistics!, ...(w && weight ? [w] : [])];
    const at = placesOf(operands, [dy!, x!, dx!, stats!, ...(weight ? [weight] : [])]);
    log.host('standardizeGradGroups', [viewOf[dy!.dtype], at, sizes, attrs.centered ? 1 : 0]);
  };
};

const standardizeWeightGrad: HostFactory = (log, [dy, x, stats], [dw], attrs) => {
  const { outer, groups, length, run } = groupsOf(attrs);
  const sizes = [outer, groups, length, run, sizeOf(dw!.shape)];
  return ([grad, source, statistics], [target]) => {
    const at = placesOf([grad!, source!, statistics!, target!], [dy!, x!, stats!, dw!]);
    log.host('standardizeWeightGradRuns', [viewOf[dy!.dtype], at, sizes]);
  };
};

const scan =
  (kind: 'cumsum' | 'cumprod'): HostFactory =>
  (log, [x], [out], { dim, reverse }) => {
    const { size, stride, outer } = alongDim(out!.shape, dim as number);
    const isInteger = dtypes[out!.dtype].floating ? 0 : 1;
    return ([source], [target]) => {
      const at = placesOf([source!, target!], [x!, out!]);
      const sizes = [size, stride, outer];
      log.host('scan', [kind, viewOf[out!.dtype], ...at, sizes, reverse ? 1 : 0, isInteger]);
    };
  };

const sort: HostFactory = (log, [x], [values, places], attrs) => {
  const { size, stride, outer } = alongDim(x!.shape, attrs.dim as number);
  const sizes = [size, stride, outer, attrs.count as number];
  return ([source], targets) => {
    const at = placesOf([source!, ...targets], [x!, values!, places!]);
    log.host('sortRows', [viewOf[x!.dtype], at, sizes, attrs.descending ? -1 : 1]);
  };
};

/** The terms of each entry, as the methods expect them. */
function tapsFor(size: number, count: number, attrs: Attrs): HostArgument[] {
  const lists = Array.from({ length: count }, (_, i) => tapsOf(i, size, count, attrs));
  const starts = [0];
  for (const list of lists) starts.push(starts.at(-1)! + list.length);
  const flat = lists.flat();
  return [starts, flat.map(([index]) => index), flat.map(([, weight]) => weight)];
}

const resampling =
  (isGrad: boolean): HostFactory =>
  (log, inputs, [out], attrs) => {
    const dim = attrs.dim as number;
    const [x, y] = isGrad ? [inputs[1]!, inputs[0]!] : [inputs[0]!, out!];
    const { size, stride, outer } = alongDim(x.shape, dim);
    const taps = tapsFor(size, y.shape[dim]!, attrs);
    const method = isGrad ? 'resampleGradRows' : 'resampleRows';
    return ([source], [target]) => {
      const at = placesOf([source!, target!], [inputs[0]!, out!]);
      log.host(method, [viewOf[out!.dtype], ...at, [size, stride, outer], ...taps]);
    };
  };

function convolutionArguments(x: TensorMeta, w: TensorMeta, y: TensorMeta, attrs: Attrs) {
  const s = convShape(x, w, y, attrs);
  return [
    [s.batch, s.groups, s.inChannels, s.outChannels],
    [...s.inSize, ...s.outSize],
    [...s.kernel, ...s.stride, ...s.padding, ...s.dilation],
  ];
}

const conv2d: HostFactory = (log, [x, w], [y], attrs) => {
  const sizes = convolutionArguments(x!, w!, y!, attrs);
  return ([image, weight], [target]) => {
    const at = placesOf([target!, image!, weight!], [y!, x!, w!]);
    log.host('clear', [viewOf[y!.dtype], at[0]!, sizeOf(y!.shape)]);
    log.host('convolution', [viewOf[y!.dtype], at, 0, ...sizes]);
  };
};

const conv2dInputGrad: HostFactory = (log, [dy, w, x], [dx], attrs) => {
  const sizes = convolutionArguments(x!, w!, dy!, attrs);
  return ([grad, weight], [target]) => {
    const at = placesOf([grad!, target!, weight!], [dy!, dx!, w!]);
    log.host('clear', [viewOf[dx!.dtype], at[1]!, sizeOf(dx!.shape)]);
    log.host('convolution', [viewOf[dx!.dtype], at, 1, ...sizes]);
  };
};

const convTranspose2d: HostFactory = (log, [x, w], outputs, attrs) =>
  conv2dInputGrad(log, [x!, w!, outputs[0]!], outputs, attrs);

const weightGrad =
  (goesOn: boolean): HostFactory =>
  (log, inputs, [dw], attrs) => {
    const [dy, x, w] = goesOn ? inputs.slice(1) : inputs;
    const sizes = convolutionArguments(x!, w!, dy!, attrs);
    return (sources, [target]) => {
      const [grad, image] = goesOn ? sources.slice(1) : sources;
      const at = placesOf([grad!, image!, target!], [dy!, x!, dw!]);
      if (!goesOn) log.host('clear', [viewOf[dw!.dtype], at[2]!, sizeOf(dw!.shape)]);
      log.host('convolution', [viewOf[dw!.dtype], at, 2, ...sizes]);
    };
  };

export const rowKernels: { readonly [N in KernelName]?: HostFactory } = {
  softmax: softmaxRows('softmax'),
  logSoftmax: softmaxRows('logSoftmax'),
  softmaxGrad: softmaxRows('softmaxGrad'),
  logSoftmaxGrad: softmaxRows('logSoftmaxGrad'),
  standardize,
  standardizeByStats,
  standardizeGrad,
  standardizeWeightGrad,
  cumsum: scan('cumsum'),
  cumprod: scan('cumprod'),
  sort,
  resample: resampling(false),
  resampleGrad: resampling(true),
  conv2d,
  conv2dInputGrad,
  convTranspose2d,
  conv2dWeightGrad: weightGrad(false),
  addConv2dWeightGrad: weightGrad(true),
};
