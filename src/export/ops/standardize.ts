/** Normalization over groups of elements; see `runtime/ops/normalization/grouping.ts`. */

import { fixedList, numberAttr, sizesAttr } from '../target/attributes.ts';
import { type Dims, sizeOfDims } from '../target/dims.ts';
import type { CommonMapping, CommonMappings, TargetCall } from '../target/op-mapping.ts';
import { type TargetValue, wideElement } from '../target/target.ts';

/** The arithmetic of a call on its groups, in a shape that has them as dimensions. */
class Groups<V extends TargetValue> {
  readonly #call: TargetCall<V>;
  readonly #view: Dims;
  readonly #over: readonly number[];
  readonly #weightShape: Dims;

  constructor(call: TargetCall<V>) {
    this.#call = call;
    this.#view = sizesAttr(call, 'view');
    this.#over = fixedList(call, 'over');
    this.#weightShape = sizesAttr(call, 'weightShape');
  }

  /** The view with size 1 where a group has its elements. */
  get shape(): Dims {
    return this.#view.map((size, d) => (this.#over.includes(d) ? 1 : size));
  }

  view(x: V, element: V['element']): V {
    const { to } = this.#call;
    return to.reshape(to.convert(x, element), this.#view);
  }

  /** One number of each group, for each of its elements. */
  spread(x: V): V {
    return this.#call.to.spread(x, this.#view);
  }

  /** The mean of each group, in the shape of the groups. */
  mean(x: V): V {
    return this.#call.to.reduce('mean', x, this.#over, true);
  }

  /** The elements minus their group's mean, times its scale; and the scale. */
  standardized(x: V, stats: V): { readonly out: V; readonly scale: V } {
    const { to } = this.#call;
    const [mean, scale] = [0, 1].map((i) =>
      this.spread(to.reshape(to.slice(stats, 1, i, i + 1, 1), this.shape)),
    ) as [V, V];
    return { out: to.binary('multiply', to.binary('subtract', x, mean), scale), scale };
  }

  weights(weight: V, element: V['element']): V {
    const { to } = this.#call;
    return this.spread(to.reshape(to.convert(weight, element), this.#weightShape));
  }

  /** `x` times the weights, plus the biases. */
  affine(x: V, weight: V | undefined, bias: V | undefined): V {
    const { to } = this.#call;
    let out = x;
    if (weight) out = to.binary('multiply', out, this.weights(weight, out.element));
    if (bias) out = to.binary('add', out, this.weights(bias, out.element));
    return out;
  }

  /** Sums over all elements that share a weight. */
  sumByWeight(x: V): V {
    const lead = this.#view.length - this.#weightShape.length;
    const dims = this.#view.flatMap((_, d) =>
      (this.#weightShape[d - lead] ?? 1) === 1 ? [d] : [],
    );
    const { to, outputs } = this.#call;
    return to.reshape(to.reduce('sum', x, dims), outputs[0]!.shape);
  }
}

const standardize: CommonMapping = (call) => {
  const { to, inputs, outputs, attrs } = call;
  const groups = new Groups(call);
  const [input, weight, bias] = inputs;
  const x = groups.view(input!, wideElement(input!.element));
  const center = attrs.centered ? groups.mean(x) : to.zeros(x.element, groups.shape);
  const distance = attrs.centered ? to.binary('subtract', x, groups.spread(center)) : x;
  const variance = groups.mean(to.binary('multiply', distance, distance));
  const eps = to.spread(numberAttr(call, 'eps', x.element), groups.shape);
  const one = to.constant(1, x.element, groups.shape);
  const scale = to.binary('divide', one, to.unary('sqrt', to.binary('add', variance, eps)));
  const out = groups.affine(to.binary('multiply', distance, groups.spread(scale)), weight, bias);
  const column = [sizeOfDims(groups.shape), 1];
  const statistics = [center, scale].map((each) => to.reshape(each, column));
  const stats = to.concatenate(statistics, 1, 2);
  return [
    to.convert(to.reshape(out, input!.shape), input!.element),
    to.reshape(stats, outputs[1]?.shape ?? stats.shape),
  ];
};

/** Standardizes by given statistics, including weights and biases. */
const standardizeByStats: CommonMapping = (call) => {
  const { to, inputs, outputs } = call;
  const groups = new Groups(call);
  const [input, stats, weight, bias] = inputs;
  const { out } = groups.standardized(groups.view(input!, stats!.element), stats!);
  const affine = groups.affine(out, weight, bias);
  return to.convert(to.reshape(affine, outputs[0]!.shape), input!.element);
};

const standardizeGrad: CommonMapping = (call) => {
  const { to, inputs, attrs, outputs } = call;
  const groups = new Groups(call);
  const [dy, input, stats, weight] = inputs;
  const { element } = stats!;
  const { out, scale } = groups.standardized(groups.view(input!, element), stats!);
  const own = groups.affine(groups.view(dy!, element), weight, undefined);
  const mean = (x: typeof own) => groups.spread(groups.mean(x));
  const along = to.binary('multiply', out, mean(to.binary('multiply', own, out)));
  const rest = attrs.centered ? to.binary('subtract', own, mean(own)) : own;
  const dx = to.binary('multiply', scale, to.binary('subtract', rest, along));
  return to.convert(to.reshape(dx, outputs[0]!.shape), input!.element);
};

function weightGradient<V extends TargetValue>(
  call: TargetCall<V>,
  [dy, x, stats]: readonly [dy: V, x: V, stats: V],
): V {
  const groups = new Groups(call);
  const { out } = groups.standardized(groups.view(x, stats.element), stats);
  return groups.sumByWeight(call.to.binary('multiply', groups.view(dy, stats.element), out));
}

export const standardizeOps: CommonMappings = {
  standardize,
  standardizeAffine: standardize,
  standardizeByStats,
  standardizeAffineByStats: standardizeByStats,
  standardizeGrad,
  standardizeAffineGrad: standardizeGrad,
  standardizeWeightGrad: (call) => {
    const [dy, x, stats, weight] = call.inputs;
    return call.to.convert(weightGradient(call, [dy!, x!, stats!]), weight!.element);
  },
  addStandardizeWeightGrad_: (call) => {
    const [dw, dy, x, stats] = call.inputs;
    return call.to.binary('add', dw!, weightGradient(call, [dy!, x!, stats!]));
  },
};
