import { cubicWeights } from '../../numerics/taps.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { fromStart } from '../node/axes.ts';
import type { NodeFacts, Operator } from '../node/node.ts';
import { missing } from '../node/not-imported.ts';
import { hostOf, integersIn, numbersIn, type Operand, tensorOf } from '../values/host.ts';
import { wrongSetting } from '../values/wrong-setting.ts';

interface Settings {
  readonly mode: 'nearest' | 'linear' | 'cubic';
  readonly rounding: string;
  /** Maps entry `i` of the result to a position among the operand's entries. */
  readonly place: Place;
  readonly cubic: number;
  readonly excludesOutside: boolean;
}

type Place = (i: number, axis: Axis) => number;

/** One axis: its sizes before and after, and the scale that the model specifies. */
interface Axis {
  readonly dim: number;
  readonly from: number;
  readonly size: number;
  readonly scale: number;
}

const halfPixel: Place = (i, { scale }) => (i + 0.5) / scale - 0.5;

const places: Readonly<Record<string, Place>> = {
  half_pixel: halfPixel,
  half_pixel_symmetric(i, { from, size, scale }) {
    const adjusted = (from / 2) * (1 - size / (scale * from));
    return adjusted + halfPixel(i, { dim: 0, from, size, scale });
  },
  pytorch_half_pixel: (i, axis) => (axis.size > 1 ? halfPixel(i, axis) : 0),
  align_corners: (i, { from, size }) => (size > 1 ? (i * (from - 1)) / (size - 1) : 0),
  asymmetric: (i, { scale }) => i / scale,
};

const roundings: Readonly<Record<string, (x: number) => number>> = {
  round_prefer_floor: (x) => Math.ceil(x - 0.5),
  round_prefer_ceil: (x) => Math.floor(x + 0.5),
  floor: Math.floor,
  ceil: Math.ceil,
};

function settingsOf({ attributes }: NodeFacts): Settings {
  const mode = attributes.choice('mode', ['nearest', 'linear', 'cubic'], 'nearest');
  const names = [...Object.keys(places), 'tf_crop_and_resize'];
  const transform = attributes.choice('coordinate_transformation_mode', names, 'half_pixel');
  const policies = ['stretch', 'not_larger', 'not_smaller'];
  const policy = attributes.choice('keep_aspect_ratio_policy', policies, 'stretch');
  if (transform === 'tf_crop_and_resize') throw missing('Resize with tf_crop_and_resize');
  if (attributes.flag('antialias', false)) throw missing('Resize with antialias');
  if (policy !== 'stretch') throw missing('Resize with keep_aspect_ratio_policy');
  return {
    mode,
    place: places[transform]!,
    rounding: attributes.choice('nearest_mode', Object.keys(roundings), 'round_prefer_floor'),
    cubic: attributes.number('cubic_coeff_a', -0.75),
    excludesOutside: attributes.flag('exclude_outside', false),
  };
}

/** The terms of an entry: indices into the operand, each with a weight. */
type Terms = readonly (readonly [place: number, weight: number])[];

function termsOf(i: number, axis: Axis, settings: Settings): Terms {
  const { mode, rounding, cubic } = settings;
  const last = axis.from - 1;
  const inside = (place: number) => Math.min(Math.max(place, 0), last);
  const at = settings.place(i, axis);
  if (mode === 'nearest') return [[inside(roundings[rounding]!(at)), 1]];
  if (mode === 'linear') {
    const clamped = Math.min(Math.max(at, 0), last);
    const low = Math.floor(clamped);
    return [
      [low, 1 - (clamped - low)],
      [inside(low + 1), clamped - low],
    ];
  }
  const low = Math.floor(at);
  const weights = cubicWeights(at - low, cubic);
  if (!settings.excludesOutside) return weights.map((weight, k) => [inside(low - 1 + k), weight]);
  const kept = weights.map((weight, k) => (low - 1 + k === inside(low - 1 + k) ? weight : 0));
  const sum = kept.reduce((total, weight) => total + weight, 0);
  return kept.map((weight, k) => [inside(low - 1 + k), weight / sum]);
}

/** Resizes one axis by weighted sums of the operand's entries. */
function resized(x: Tensor, axis: Axis, settings: Settings): Tensor {
  const terms: Terms[] = [];
  for (let i = 0; i < axis.size; i++) terms.push(termsOf(i, axis, settings));
  const shape = x.shape.map((_, d) => (d === axis.dim ? axis.size : 1));
  let sum: Tensor | null = null;
  for (let k = 0; k < terms[0]!.length; k++) {
    const chosen = hostOf(
      terms.map((each) => each[k]![0]),
      [axis.size],
    );
    let part = x.indexSelect(axis.dim, tensorOf(chosen));
    if (settings.mode !== 'nearest') {
      const weights = terms.map((each) => each[k]![1]);
      part = part.mul(tensorOf(hostOf(weights, [axis.size], x.dtype)).reshape(shape));
    }
    sum = sum ? sum.add(part) : part;
  }
  return sum!;
}

/** The size limit of an axis, which only damaged files exceed. */
const mostEntries = 2 ** 20;

function axesOf(
  x: Tensor,
  dims: readonly number[],
  scales: readonly number[] | null,
  sizes: readonly number[] | null,
): Axis[] {
  const numbers = scales ?? sizes;
  if (numbers?.length !== dims.length) {
    throw wrongSetting(
      `Resize of ${dims.length} axes by ${numbers?.length ?? 0} numbers`,
      'one each',
    );
  }
  return dims.map((dim, k) => {
    const from = x.shape[dim]!;
    const size = scales ? Math.floor(from * scales[k]!) : sizes![k]!;
    if (!(size >= 1 && size <= mostEntries && from >= 1)) {
      throw wrongSetting(`Resize from ${from} to ${size} entries`, `1 to ${mostEntries}`);
    }
    return { dim, from, size, scale: scales ? scales[k]! : size / from };
  });
}

const numbersOf = (operand: Operand | undefined): readonly number[] | null => {
  const numbers = operand ? numbersIn(operand) : [];
  return numbers.length > 0 ? numbers : null;
};

export const resize: Operator = (node) => {
  const settings = settingsOf(node);
  const axes = node.attributes.ints('axes');
  return ([input, , scales, sizes]) => {
    const x = tensorOf(input!);
    const dims = axes?.map((axis) => fromStart(axis, x.rank)) ?? x.shape.map((_, d) => d);
    const outputSizes = numbersOf(sizes) && integersIn(sizes!);
    let result = x;
    for (const axis of axesOf(x, dims, numbersOf(scales), outputSizes)) {
      if (axis.size !== axis.from || axis.scale !== 1) result = resized(result, axis, settings);
    }
    return result;
  };
};
