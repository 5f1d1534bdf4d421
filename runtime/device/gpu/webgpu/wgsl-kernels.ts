import { invariant } from '../../../errors/invariant.ts';
import { E, type Expr } from '../../../ops/expr/expr.ts';
import type { KernelName } from '../../kernel-names.ts';
import type { Attrs, KernelOp } from '../../kernel-op.ts';
import type { StagedBody } from '../../staged-body.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { tiledPlan } from '../wgsl/attention/tiled-kernel.ts';
import { type GatherOp, gatherPlan, headedGather } from '../wgsl/convolution/gather-kernel.ts';
import {
  adaptiveMaxPoolPlan,
  maxPoolGradPlan,
  maxPoolPlan,
} from '../wgsl/convolution/pool-kernel.ts';
import { resampleGradPlan, resamplePlan } from '../wgsl/convolution/resample-kernel.ts';
import { convWeightGradPlan } from '../wgsl/convolution/weight-gradient.ts';
import { type FoldName, foldOf } from '../wgsl/fold-text.ts';
import { elementsPlan, indexPlan } from '../wgsl/indexing/choose.ts';
import {
  gatherGradPlan,
  indexGradPlan,
  indexUpdatePlan,
  scatterPlan,
} from '../wgsl/indexing/update.ts';
import { listPlan } from '../wgsl/list-kernels.ts';
import {
  crossEntropyGradPlan,
  nllLossGradPlan,
  nllLossPlan,
  nllLossSharePlan,
} from '../wgsl/loss-kernels.ts';
import { matmulPlan, productPlan } from '../wgsl/matmul-kernel.ts';
import { catPlan, flipPlan, rollPlan } from '../wgsl/movement/joining.ts';
import { arangePlan, unfoldGradPlan } from '../wgsl/movement/range.ts';
import { narrowGradPlan, placeIntoPlan, placePlan } from '../wgsl/movement/region.ts';
import {
  standardizeGradPlan,
  standardizePlan,
  standardizeWeightGradPlan,
} from '../wgsl/norm-kernels.ts';
import { cumprodGradPlan, extremeIndexPlan, scanPlan } from '../wgsl/order/line-kernels.ts';
import { sortPlan } from '../wgsl/order/sort-kernel.ts';
import { fusedBody, singleBody } from '../wgsl/pointwise-bodies.ts';
import { pointwiseStage } from '../wgsl/pointwise-kernel.ts';
import { randomPlan } from '../wgsl/random-kernel.ts';
import { headedReduction, reducePlan, reductionOf, repeatedDims } from '../wgsl/reduce-kernel.ts';
import { type RowOpName, rowPlan } from '../wgsl/row-kernels.ts';
import { headedOf } from '../wgsl/staged-body.ts';
import type { AdapterFacts, KernelPlanner, WgslPlan } from '../wgsl/wgsl-plan.ts';

/** One of our kernels, and the features it needs that gpu.js can't express. */
interface WgslEntry {
  readonly why: string;
  readonly plan: KernelPlanner;
}

const sizes = 'sizes as uniforms, integer indices';
const shared = `workgroup memory, ${sizes}`;
const sorted = `indices sorted in workgroup memory, ${sizes}`;

/** Named ops; the others keep the gpu.js kernels (`codegen/kernels.ts`). */
const wgslKernels: ReadonlyMap<KernelName, WgslEntry> = new Map<KernelName, WgslEntry>([
  ['fill', { why: sizes, plan: pointwisePlan(E.attr('value')) }],
  ['copy', { why: sizes, plan: pointwisePlan(E.input(0)) }],
  ['copyInto', { why: sizes, plan: pointwisePlan(E.input(1)) }],
  ['sum', { why: shared, plan: overDims('sum') }],
  ['prod', { why: shared, plan: overDims('prod') }],
  ['max', { why: shared, plan: overDims('max') }],
  ['min', { why: shared, plan: overDims('min') }],
  [
    'sumTo',
    {
      why: shared,
      plan: ([x, like], [out]) =>
        reducePlan(foldOf('sum', x!.dtype), x!, repeatedDims(x!, like!), out!),
    },
  ],
  ['softmax', { why: shared, plan: alongRows('softmax') }],
  ['logSoftmax', { why: shared, plan: alongRows('logSoftmax') }],
  ['softmaxGrad', { why: shared, plan: alongRows('softmaxGrad') }],
  ['logSoftmaxGrad', { why: shared, plan: alongRows('logSoftmaxGrad') }],
  ['nllLossGrad', { why: shared, plan: nllLossGradPlan }],
  ['crossEntropyGrad', { why: sizes, plan: crossEntropyGradPlan }],
  ['nllLoss', { why: shared, plan: nllLossPlan }],
  ['nllLossShare', { why: shared, plan: nllLossSharePlan }],
  ['conv2d', { why: shared, plan: gatherPlan('conv2d') }],
  ['conv2dInputGrad', { why: shared, plan: gatherPlan('conv2dInputGrad') }],
  ['convTranspose2d', { why: shared, plan: gatherPlan('convTranspose2d') }],
  ['conv2dWeightGrad', { why: shared, plan: convWeightGradPlan }],
  ['maxPool2d', { why: `two results, ${sizes}`, plan: maxPoolPlan }],
  ['adaptiveMaxPool2d', { why: `two results, ${sizes}`, plan: adaptiveMaxPoolPlan }],
  ['maxPool2dGrad', { why: sizes, plan: maxPoolGradPlan }],
  ['standardize', { why: `two results, ${shared}; rows and channels`, plan: standardizePlan }],
  ['standardizeGrad', { why: `${shared}; rows and channels`, plan: standardizeGradPlan }],
  [
    'standardizeWeightGrad',
    { why: `${shared}; rows and channels`, plan: standardizeWeightGradPlan },
  ],
  ['matmul', { why: shared, plan: matmulPlan }],
  ['cat', { why: `several parts in one dispatch, ${sizes}`, plan: catPlan }],
  ['flip', { why: sizes, plan: flipPlan }],
  ['roll', { why: sizes, plan: rollPlan }],
  ['narrowGrad', { why: sizes, plan: narrowGradPlan }],
  ['place', { why: sizes, plan: placePlan }],
  ['placeInto', { why: sizes, plan: placeIntoPlan }],
  ['unfoldGrad', { why: sizes, plan: unfoldGradPlan }],
  ['arange', { why: sizes, plan: arangePlan }],
  ['gather', { why: sizes, plan: elementsPlan }],
  ['index', { why: sizes, plan: indexPlan }],
  ['gatherGrad', { why: sorted, plan: gatherGradPlan }],
  ['scatter', { why: sorted, plan: scatterPlan('replace') }],
  ['scatterAdd', { why: sorted, plan: scatterPlan('add') }],
  ['indexGrad', { why: sorted, plan: indexGradPlan }],
  ['indexPut', { why: sorted, plan: indexUpdatePlan('replace') }],
  ['indexAdd', { why: sorted, plan: indexUpdatePlan('add') }],
  ['argmax', { why: shared, plan: extremeIndexPlan(true) }],
  ['argmin', { why: shared, plan: extremeIndexPlan(false) }],
  ['cumsum', { why: shared, plan: scanPlan('+') }],
  ['cumprod', { why: shared, plan: scanPlan('*') }],
  ['cumprodGrad', { why: sizes, plan: cumprodGradPlan }],
  ['resample', { why: `${sizes}; means of windows`, plan: resamplePlan }],
  ['resampleGrad', { why: `${sizes}; means of windows`, plan: resampleGradPlan }],
  ['uniform', { why: '32-bit integers', plan: randomPlan('uniform') }],
  ['normal', { why: '32-bit integers', plan: randomPlan('normal') }],
  ['sort', { why: `two results, ${shared}`, plan: sortPlan }],
]);

/** Returns the op's plan with our kernels; null if it runs on gpu.js. */
export function wgslPlan(
  { kernel }: KernelOp,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
  facts: AdapterFacts,
): WgslPlan | null {
  const { mostBuffers } = facts;
  if (kernel.kind === 'pointwise') {
    const fits = inputs.length + outputs.length <= mostBuffers;
    return fits ? pointwisePlan(kernel.expr)(inputs, outputs) : null;
  }
  if (kernel.kind === 'fused') {
    return { scratch: [], stages: [pointwiseStage([fusedBody(kernel.body, inputs, outputs)])] };
  }
  if (kernel.kind === 'staged') return stagedPlan(kernel.body, inputs, outputs, attrs);
  if (kernel.kind === 'tiled') return tiledPlan(kernel.body, inputs, outputs);
  if (kernel.kind === 'list') return listPlan(kernel.body, inputs, outputs, mostBuffers);
  if (kernel.kind !== 'named') return null;
  return wgslKernels.get(kernel.name)?.plan(inputs, outputs, attrs, facts) ?? null;
}

/** Returns a plan that copies elements from one layout to another. */
export function copyPlan(from: TensorMeta, to: TensorMeta): WgslPlan {
  return pointwisePlan(E.input(0))([from], [to]);
}

function alongRows(name: RowOpName): KernelPlanner {
  return (inputs, outputs) => rowPlan(name, inputs, outputs);
}

function overDims(name: FoldName): KernelPlanner {
  return ([x], [out], { dims }) =>
    reducePlan(foldOf(name, x!.dtype), x!, dims as readonly number[], out!);
}

/** Returns the plan of a product, convolution or sum and the pointwise ops on its elements. */
function stagedPlan(
  staged: StagedBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
): WgslPlan {
  const { op, inputs: read, attrs: own, body } = headedOf(staged, inputs, outputs.length, attrs);
  const [x, like] = read;
  const name = op.kernel.kind === 'named' ? op.kernel.name : null;
  if (name === 'matmul') return productPlan(body, inputs, outputs);
  if (isGather(name)) return headedGather(name, own, body, inputs, outputs);
  invariant(name === 'sum' || name === 'sumTo', `${op.name} as the head of a staged op`);
  const dims = name === 'sum' ? (own.dims as readonly number[]) : repeatedDims(x!, like!);
  return headedReduction(foldOf('sum', x!.dtype), reductionOf(x!, dims), body, inputs, outputs);
}

function isGather(name: KernelName | null): name is GatherOp {
  return name === 'conv2d' || name === 'conv2dInputGrad' || name === 'convTranspose2d';
}

function pointwisePlan(expr: Expr) {
  return (inputs: readonly TensorMeta[], [out]: readonly TensorMeta[]): WgslPlan => ({
    scratch: [],
    stages: [pointwiseStage([singleBody(expr, inputs, out!)])],
  });
}
