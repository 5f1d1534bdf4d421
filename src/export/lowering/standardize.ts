import type { ArithmeticTarget, OpCall, TargetValue } from './target.ts';

interface Target<V extends TargetValue> extends ArithmeticTarget<V> {
  reshape(x: V, shape: V['shape']): V;
}

type Call<V extends TargetValue> = Pick<OpCall<V, unknown>, 'inputs' | 'outputs' | 'attrs'> & {
  readonly to: Target<V>;
};

/** How the engine computes on groups; see `runtime/ops/normalization/grouping.ts`. */
export interface GroupArithmetic<V extends TargetValue> {
  readonly view: V['shape'];
  readonly weightShape: V['shape'];
  /** The mean over each group, broadcast to the view. */
  mean(x: V): V;
  /** Mean and scale of each group, broadcast to the view. */
  statistics(stats: V): [mean: V, scale: V];
  /** The weights in an element type, broadcast to the view. */
  weights(weight: V, element: V['element']): V;
  sum(x: V, dims: readonly number[]): V;
}

/** (x − mean) · scale, and the scale, in the shape of the view. */
function standardized<V extends TargetValue>(
  to: Target<V>,
  x: V,
  stats: V,
  groups: GroupArithmetic<V>,
) {
  const [mean, scale] = groups.statistics(stats);
  return { out: to.binary('multiply', to.binary('subtract', x, mean), scale), scale };
}

function inputGradient<V extends TargetValue>(call: Call<V>, groups: GroupArithmetic<V>): V {
  const { to, inputs, attrs, outputs } = call;
  const [dy, given, stats, weight] = inputs as [V, V, V, V?];
  const inView = (each: V) => to.reshape(to.convert(each, stats.element), groups.view);
  const { out, scale } = standardized(to, inView(given), stats, groups);
  let own = inView(dy);
  if (weight) own = to.binary('multiply', own, groups.weights(weight, own.element));
  const along = to.binary('multiply', out, groups.mean(to.binary('multiply', own, out)));
  const rest = attrs.centered ? to.binary('subtract', own, groups.mean(own)) : own;
  const dx = to.binary('multiply', scale, to.binary('subtract', rest, along));
  return to.convert(to.reshape(dx, outputs[0]!.shape), given.element);
}

function weightGradient<V extends TargetValue>(
  { to, outputs }: Call<V>,
  groups: GroupArithmetic<V>,
  [dy, given, stats]: readonly [dy: V, x: V, stats: V],
): V {
  const { view, weightShape } = groups;
  const inView = (each: V) => to.reshape(to.convert(each, stats.element), view);
  const { out } = standardized(to, inView(given), stats, groups);
  const lead = view.length - weightShape.length;
  const dims = view.flatMap((_, d) => ((weightShape[d - lead] ?? 1) === 1 ? [d] : []));
  return to.reshape(groups.sum(to.binary('multiply', inView(dy), out), dims), outputs[0]!.shape);
}

/** Standardizes by given statistics, including weights and biases. */
function byStats<V extends TargetValue>(call: Call<V>, groups: GroupArithmetic<V>): V {
  const { to, inputs, outputs } = call;
  const [given, stats, weight, bias] = inputs as [V, V, V?, V?];
  const x = to.reshape(to.convert(given, stats.element), groups.view);
  let { out } = standardized(to, x, stats, groups);
  if (weight) out = to.binary('multiply', out, groups.weights(weight, out.element));
  if (bias) out = to.binary('add', out, groups.weights(bias, out.element));
  return to.convert(to.reshape(out, outputs[0]!.shape), given.element);
}

/** The ops that read the statistics of groups, for an engine that can compute on groups. */
export function opsByStats<V extends TargetValue, C extends Call<V>>(
  groupsOf: (call: C) => GroupArithmetic<V>,
): Readonly<Record<string, (call: C) => V>> {
  const standardizeGrad = (call: C) => inputGradient(call, groupsOf(call));
  const standardizeByStats = (call: C) => byStats(call, groupsOf(call));
  return {
    standardizeByStats,
    standardizeAffineByStats: standardizeByStats,
    standardizeGrad,
    standardizeAffineGrad: standardizeGrad,
    standardizeWeightGrad: (call) => {
      const [dy, x, stats, weight] = call.inputs as [V, V, V, V];
      return call.to.convert(weightGradient(call, groupsOf(call), [dy, x, stats]), weight.element);
    },
    addStandardizeWeightGrad_: (call) => {
      const [dw, dy, x, stats] = call.inputs as [V, V, V, V];
      return call.to.binary('add', dw, weightGradient(call, groupsOf(call), [dy, x, stats]));
    },
  };
}
