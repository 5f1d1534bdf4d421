/** Weights of interpolation and average pooling along one dimension. */

/** One term of an entry: another entry and its weight. */
export type Tap = readonly [index: number, weight: number];

/** Cubic convolution weights; a = −¾ as in PyTorch. */
export function cubicWeights(t: number, a = -0.75): number[] {
  const near = (d: number) => ((a + 2) * d - (a + 3)) * d * d + 1;
  const far = (d: number) => ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return [far(t + 1), near(t), near(1 - t), far(2 - t)];
}

function evenly(start: number, end: number, divisor: number): Tap[] {
  return Array.from({ length: Math.max(0, end - start) }, (_, k) => [start + k, 1 / divisor]);
}

/** Returns the terms of entry `i` of `count`, from `size` entries, for attribute `mode` of the op `resample`. */
export function tapsOf(
  i: number,
  size: number,
  count: number,
  attrs: Readonly<Record<string, unknown>>,
): Tap[] {
  const { step, kernel, stride, padding, divisor } = attrs as Readonly<Record<string, number>>;
  const last = size - 1;
  const inside = (index: number) => Math.min(last, Math.max(0, index));
  const position = attrs.alignCorners ? i * step! : (i + 0.5) * step! - 0.5;
  switch (attrs.mode) {
    case 'nearest':
      return [[Math.min(last, Math.floor(i * step!)), 1]];
    case 'nearest-exact':
      return [[Math.min(last, Math.floor((i + 0.5) * step!)), 1]];
    case 'linear': {
      const from = Math.max(0, position);
      const low = Math.min(last, Math.floor(from));
      const share = from - low;
      return low === last || share === 0
        ? [[low, 1]]
        : [
            [low, 1 - share],
            [low + 1, share],
          ];
    }
    case 'cubic': {
      const low = Math.floor(position);
      return cubicWeights(position - low).map((weight, k) => [inside(low - 1 + k), weight]);
    }
    case 'area': {
      const start = Math.floor((i * size) / count);
      const end = Math.ceil(((i + 1) * size) / count);
      return evenly(start, end, end - start);
    }
    default: {
      const from = i * stride! - padding!;
      const to = Math.min(from + kernel!, size + padding!);
      const [start, end] = [Math.max(0, from), Math.min(to, size)];
      // 0: the window size including the border, −1: without it.
      return evenly(start, end, divisor! > 0 ? divisor! : divisor === 0 ? to - from : end - start);
    }
  }
}
