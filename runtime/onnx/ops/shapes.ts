import { pad } from '../../ops/arranging/padding.ts';
import { expand } from '../../ops/core/broadcast.ts';
import { full } from '../../ops/movement/create.ts';
import { cat } from '../../ops/movement/joining.ts';
import { arange } from '../../ops/movement/ranges.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { axesOf, fromStart, placeAmong } from '../node/axes.ts';
import type { Operator } from '../node/node.ts';
import { noExternalData } from '../values/external-data.ts';
import {
  broadcastHosts,
  countOf,
  type Host,
  hostCount,
  hostOf,
  integerIn,
  integersIn,
  isHost,
  numberIn,
  type Operand,
  rearranged,
  reshapedHost,
  tensorOf,
  type Value,
} from '../values/host.ts';
import { readTensor } from '../values/tensors.ts';
import { wrongSetting } from '../values/wrong-setting.ts';

const shapeOf = (value: Value): readonly number[] => value.shape;

/** Reshapes a tensor or JavaScript numbers. */
const reshaped = (x: Value, shape: readonly number[]): Value =>
  isHost(x) ? reshapedHost(x, shape) : x.reshape(shape);

const reshape: Operator = ({ attributes }) => {
  const allowsZero = attributes.flag('allowzero', false);
  return ([x, sizes]) => {
    const dims = shapeOf(x!);
    const requested = integersIn(sizes!).map((size, d) =>
      size === 0 && !allowsZero ? (dims[d] ?? Number.NaN) : size,
    );
    const known = requested.reduce((product, size) => (size === -1 ? product : product * size), 1);
    const shape = requested.map((size) => (size === -1 ? countOf(dims) / known : size));
    if (shape.every((size) => Number.isInteger(size) && size >= 0)) return reshaped(x!, shape);
    throw wrongSetting(
      `Reshape from [${dims.join(', ')}] to [${integersIn(sizes!).join(', ')}]`,
      `sizes of ${countOf(dims)} elements`,
    );
  };
};

const flatten: Operator = ({ attributes }) => {
  const axis = attributes.int('axis', 1);
  return ([x]) => {
    const shape = shapeOf(x!);
    const at = placeAmong(axis, shape.length);
    const rows = countOf(shape.slice(0, at));
    return reshaped(x!, [rows, countOf(shape.slice(at))]);
  };
};

const squeeze: Operator =
  (node) =>
  ([x, axes]) => {
    const shape = shapeOf(x!);
    const dims = axesOf(node, axes)?.map((axis) => fromStart(axis, shape.length));
    return reshaped(
      x!,
      shape.filter((size, d) => (dims ? !dims.includes(d) : size !== 1)),
    );
  };

const unsqueeze: Operator =
  (node) =>
  ([x, axes]) => {
    const dims = shapeOf(x!);
    const newAxes = axesOf(node, axes) ?? [];
    const rank = dims.length + newAxes.length;
    const added = newAxes.map((axis) => fromStart(axis, rank));
    const shape: number[] = [];
    let next = 0;
    for (let d = 0; d < rank; d++) shape.push(added.includes(d) ? 1 : dims[next++]!);
    return reshaped(x!, shape);
  };

const transpose: Operator = ({ attributes }) => {
  const perm = attributes.ints('perm');
  return ([x]) => {
    const dims = shapeOf(x!);
    const order = perm ?? dims.map((_, d) => dims.length - 1 - d);
    if (order.length !== dims.length || !dims.every((_, d) => order.includes(d))) {
      throw wrongSetting(`perm [${order.join(', ')}]`, `all of ${dims.length} dimensions`);
    }
    if (!isHost(x!)) return tensorOf(x!).permute(order);
    const shape = order.map((dim) => dims[dim]!);
    return rearranged(x, shape, (at) => dims.map((_, d) => at[order.indexOf(d)]!));
  };
};

const concat: Operator = ({ attributes }) => {
  const axis = attributes.int('axis', 0);
  return (operands) => {
    const parts = operands as readonly Value[];
    if (parts.every(isHost) && parts.every(({ shape }) => shape.length === 1)) {
      const values = parts.flatMap((part) => (part as Host).values);
      return hostOf(values, [values.length], (parts[0] as Host).dtype);
    }
    return cat(parts.map(tensorOf), axis);
  };
};

const split: Operator = ({ attributes, outputs }) => {
  const axis = attributes.int('axis', 0);
  const count = attributes.int('num_outputs', outputs, { min: 1, max: outputs });
  const fixed = attributes.ints('split', { min: 0 });
  return ([x, sizes]) => {
    const shape = shapeOf(x!);
    const dim = fromStart(axis, shape.length);
    const size = shape[dim]!;
    const chunk = Math.ceil(size / count);
    const even = () => Array.from({ length: count }, (_, i) => Math.min(chunk, size - i * chunk));
    const parts = sizes ? integersIn(sizes) : (fixed ?? even());
    if (parts.length < outputs || parts.reduce((sum, part) => sum + part, 0) !== size) {
      throw wrongSetting(
        `Split of ${size} entries into ${parts.join(', ')}`,
        `sizes of ${outputs} parts that add up`,
      );
    }
    const results: Value[] = [];
    let start = 0;
    for (const part of parts) {
      results.push(
        isHost(x!)
          ? slicedHost(x, { dim, start, step: 1, length: part })
          : tensorOf(x!).narrow(dim, start, part),
      );
      start += part;
    }
    return results;
  };
};

interface Range {
  readonly dim: number;
  readonly start: number;
  readonly step: number;
  readonly length: number;
}

function rangeOf(size: number, dim: number, from: number, until: number, step: number): Range {
  const clip = (index: number, low: number, high: number) =>
    Math.min(Math.max(index < 0 ? index + size : index, low), high);
  const start = step > 0 ? clip(from, 0, size) : clip(from, 0, size - 1);
  // Here −1 means before the first entry, not the last entry.
  const end = step > 0 ? clip(until, 0, size) : clip(until, -1, size - 1);
  return { dim, start, step, length: Math.max(0, Math.ceil((end - start) / step)) };
}

const slice: Operator =
  () =>
  ([x, starts, ends, axes, steps]) => {
    const shape = shapeOf(x!);
    const from = integersIn(starts!);
    const until = integersIn(ends!);
    const dims = axes
      ? integersIn(axes).map((axis) => fromStart(axis, shape.length))
      : from.map((_, i) => i);
    const by = steps ? integersIn(steps) : from.map(() => 1);
    if ([until, dims, by].some(({ length }) => length !== from.length) || by.includes(0)) {
      throw wrongSetting(
        `Slice with starts [${from.join(', ')}], ends [${until.join(', ')}], steps [${by.join(', ')}]`,
        'as many ends, axes and steps as starts, and no step of 0',
      );
    }
    const ranges = dims.map((dim, i) => rangeOf(shape[dim]!, dim, from[i]!, until[i]!, by[i]!));
    if (isHost(x!)) return ranges.reduce(slicedHost, x);
    return ranges.reduce(sliced, tensorOf(x!));
  };

function slicedHost(x: Host, { dim, start, step, length }: Range): Host {
  const shape = x.shape.map((size, d) => (d === dim ? length : size));
  return rearranged(x, shape, (at) =>
    at.map((each, d) => (d === dim ? start + each * step : each)),
  );
}

function sliced(x: Tensor, { dim, start, step, length }: Range): Tensor {
  if (length === 0) return x.narrow(dim, 0, 0);
  if (step === 1) return x.narrow(dim, start, length);
  if (step > 0) return x.slice(dim, start, start + (length - 1) * step + 1, step);
  const last = start + (length - 1) * step;
  return x.slice(dim, last, start + 1, -step).flip([dim]);
}

const expanded: Operator =
  () =>
  ([x, sizes]) => {
    const target = integersIn(sizes!);
    const dims = shapeOf(x!);
    const rank = Math.max(dims.length, target.length);
    const size = (shape: readonly number[], d: number) => shape[d - rank + shape.length] ?? 1;
    const shape = Array.from({ length: rank }, (_, d) =>
      size(target, d) === 1 ? size(dims, d) : size(target, d),
    );
    if (isHost(x!))
      return broadcastHosts(
        [x, hostOf(shape.length ? (Array(hostCount(shape)).fill(0) as number[]) : [0], shape)],
        x.dtype,
        (a) => a,
      );
    return expand(tensorOf(x!), shape);
  };

const padded: Operator = ({ attributes }) => {
  const mode = attributes.choice('mode', ['constant', 'reflect', 'edge', 'wrap'], 'constant');
  return ([x, pads, value, axes]) => {
    const tensor = tensorOf(x!);
    const padSizes = integersIn(pads!);
    const dims = axes
      ? integersIn(axes).map((axis) => fromStart(axis, tensor.rank))
      : tensor.shape.map((_, d) => d);
    if (padSizes.length !== 2 * dims.length) {
      throw wrongSetting(`${padSizes.length} pads`, `2 for each of ${dims.length} dimensions`);
    }
    const amounts = Array<number>(2 * tensor.rank).fill(0);
    dims.forEach((dim, i) => {
      amounts[2 * (tensor.rank - 1 - dim)] = padSizes[i]!;
      amounts[2 * (tensor.rank - 1 - dim) + 1] = padSizes[i + dims.length]!;
    });
    while (amounts.length > 2 && amounts.at(-1) === 0 && amounts.at(-2) === 0) amounts.splice(-2);
    const names = {
      constant: 'constant',
      reflect: 'reflect',
      edge: 'replicate',
      wrap: 'circular',
    } as const;
    return pad(tensor, amounts, names[mode], value ? numberIn(value) : 0);
  };
};

const constantOfShape: Operator = ({ attributes }) => {
  const proto = attributes.tensor('value');
  const value = proto ? readTensor(proto, noExternalData) : null;
  const number = value ? numberIn(value) : 0;
  const dtype = value ? value.dtype : 'float32';
  return ([sizes]) => {
    const shape = integersIn(sizes!);
    if (isHost(value)) return hostOf(Array<number>(hostCount(shape)).fill(number), shape);
    return full(shape, number, { dtype });
  };
};

const range: Operator =
  () =>
  ([start, limit, step]) => {
    const [from, until, by] = [start, limit, step].map((each) => numberIn(each!)) as [
      number,
      number,
      number,
    ];
    const length = Math.max(0, Math.ceil((until - from) / by));
    if (!Number.isSafeInteger(length)) {
      throw wrongSetting(`Range from ${from} to ${until} by ${by}`, 'a number of entries');
    }
    const values = () => Array.from({ length }, (_, i) => from + i * by);
    if (isHost(start!) && start.dtype === 'int32') {
      hostCount([length]);
      return hostOf(values(), [length]);
    }
    return arange(length).to(tensorOf(start!).dtype).mul(by).add(from);
  };

const triangle: Operator = ({ attributes }) => {
  const isUpper = attributes.flag('upper', true);
  return ([x, k]) => {
    const tensor = tensorOf(x!);
    const diagonal = k ? integerIn(k) : 0;
    return isUpper ? tensor.triu(diagonal) : tensor.tril(diagonal);
  };
};

/** Returns the sizes of image planes. */
function planesOf(x: Tensor): [number, number, number, number] {
  if (x.rank === 4) return x.shape as unknown as [number, number, number, number];
  throw wrongSetting(`${x.rank} dimensions`, 'images of 4 dimensions');
}

/** Moves blocks of channels to positions in the plane. */
const depthToSpace: Operator = ({ attributes }) => {
  const size = attributes.int('blocksize', 1, { min: 1 });
  const isColumns = attributes.choice('mode', ['DCR', 'CRD'], 'DCR') === 'CRD';
  return ([x]) => {
    const tensor = tensorOf(x!);
    const [n, c, h, w] = planesOf(tensor);
    const channels = c / (size * size);
    const split = isColumns ? [n, channels, size, size, h, w] : [n, size, size, channels, h, w];
    const order = isColumns ? [0, 1, 4, 2, 5, 3] : [0, 3, 4, 1, 5, 2];
    return tensor
      .reshape(split)
      .permute(order)
      .reshape([n, channels, h * size, w * size]);
  };
};

const spaceToDepth: Operator = ({ attributes }) => {
  const size = attributes.int('blocksize', 1, { min: 1 });
  return ([x]) => {
    const tensor = tensorOf(x!);
    const [n, c, h, w] = planesOf(tensor);
    const split = tensor.reshape([n, c, h / size, size, w / size, size]);
    return split.permute([0, 3, 5, 1, 2, 4]).reshape([n, c * size * size, h / size, w / size]);
  };
};

export const shapeOperators: Readonly<Record<string, Operator>> = {
  Shape: (node) => {
    const start = node.attributes.int('start', 0);
    const end = node.attributes.int('end', Number.MAX_SAFE_INTEGER);
    return ([x]) => {
      const sizes = shapeOf(x!).slice(start, end);
      return hostOf(sizes, [sizes.length]);
    };
  },
  Size:
    () =>
    ([x]) =>
      hostOf([countOf(shapeOf(x!))], []),
  Reshape: reshape,
  Flatten: flatten,
  Squeeze: squeeze,
  Unsqueeze: unsqueeze,
  Transpose: transpose,
  Concat: concat,
  Split: split,
  Slice: slice,
  Expand: expanded,
  Tile:
    () =>
    ([x, repeats]: readonly Operand[]) =>
      tensorOf(x!).repeat(integersIn(repeats!)),
  Pad: padded,
  ConstantOfShape: constantOfShape,
  Range: range,
  Trilu: triangle,
  DepthToSpace: depthToSpace,
  SpaceToDepth: spaceToDepth,
};
