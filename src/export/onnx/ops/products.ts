import { productOps, windowOf } from '../../ops/products.ts';
import { fixedShape } from '../../target/attributes.ts';
import { multiplyDims } from '../../target/dims.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import type { OpCall } from '../emit/op-mapping.ts';

function conv2d(call: OpCall): Value {
  const { stride: strides, padding, dilation: dilations, groups: group } = windowOf(call);
  const [x, w] = call.inputs as [Value, Value];
  const attributes = {
    kernel_shape: fixedShape(call, w.shape.slice(2), 'kernel'),
    strides,
    dilations,
    group,
    pads: [...padding, ...padding],
  };
  const { shape } = call.outputs[0]!;
  return call.to.op('Conv', [x, w], x.element, shape, attributes);
}

/** Returns the gradient of the input, or the transposed convolution. */
function inputGradient(call: OpCall): Value {
  const { to } = call;
  const { stride: strides, padding, dilation: dilations, groups: group } = windowOf(call);
  const [dy, w] = call.inputs as [Value, Value];
  const { shape } = call.outputs[0]!;
  const kernel = fixedShape(call, w.shape.slice(2), 'kernel');
  const sizes = fixedShape(call, shape.slice(2), 'size');
  const dySizes = fixedShape(call, dy.shape.slice(2), 'size');
  // The part of the result that the sizes require after the last window.
  const surplus = sizes.map((size, i) => {
    const covered = (dySizes[i]! - 1) * strides[i]! + dilations[i]! * (kernel[i]! - 1) + 1;
    return covered - padding[i]! - size;
  });
  const cut = surplus.map((size) => Math.max(size, 0));
  const zeros = surplus.map((size) => Math.max(-size, 0));
  const attributes = {
    kernel_shape: kernel,
    strides,
    dilations,
    group,
    pads: [...padding, ...cut],
  };
  const covered = [...shape.slice(0, 2), ...sizes.map((size, i) => size - zeros[i]!)];
  const transposed = to.op('ConvTranspose', [dy, w], dy.element, covered, attributes);
  if (zeros.every((size) => size === 0)) return transposed;
  const pads = to.ints([0, 0, 0, 0, 0, 0, ...zeros]);
  return to.op('Pad', [transposed, pads], transposed.element, shape);
}

/** The images become the summed features, and the channels a batch. */
function weightGradient(call: OpCall): Value {
  const { to } = call;
  const { stride: strides, padding, dilation: dilations, groups: group } = windowOf(call);
  const [dy, x] = call.inputs as [Value, Value];
  const { shape } = call.outputs[0]!;
  const [o, c, kh, kw] = fixedShape(call, shape, 'kernel') as [number, number, number, number];
  const [n, , h, w] = x.shape as [Value['shape'][number], ...Value['shape']];
  const sizes = fixedShape(call, [h!, w!], 'size');
  const output = fixedShape(call, dy.shape.slice(2), 'size');
  const ends = padding.map((each, i) => {
    const covered = strides[i]! * (output[i]! - 1) + 1 + dilations[i]! * ([kh, kw][i]! - 1);
    return covered - sizes[i]! - each;
  });
  const padded = to.op('Pad', [x, to.ints([0, 0, ...padding, 0, 0, ...ends])], x.element, [
    n,
    group * c,
    ...sizes.map((size, i) => size + padding[i]! + ends[i]!),
  ]);
  // [n, g · c, …] → [c, g · n, …], and [n, o, …] → [o, n, …] for groups of o / g kernels.
  const inner = padded.shape.slice(2);
  const split = to.reshape(padded, [n, group, c, ...inner]);
  const features = multiplyDims(n, group);
  const channels = to.reshape(to.transpose(split, [2, 1, 0, 3, 4]), [c, features, ...inner]);
  const kernels = to.transpose(dy, [1, 0, 2, 3]);
  const attributes = {
    kernel_shape: output,
    strides: dilations,
    dilations: strides,
    group,
    pads: [0, 0, 0, 0],
  };
  const sums = to.op('Conv', [channels, kernels], x.element, [c, o, kh, kw], attributes);
  return to.transpose(sums, [1, 0, 2, 3]);
}

export const matrixOps = productOps<Value, Emitter>({
  forward: conv2d,
  toInput: inputGradient,
  toWeight: weightGradient,
});
