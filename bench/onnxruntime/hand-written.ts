/**
 * Training steps as ONNX graphs that an engineer would write: products with biases as Gemm, updates as new parameters.
 */

import { Emitter, type Value } from '../../src/export/onnx/emit/emitter.ts';
import { graphOf, valueInfo } from '../../src/export/onnx/emit/graph.ts';
import { modelSchema } from '../../src/onnx/schema.ts';
import { encodeMessage } from '../../src/protobuf/message.ts';

const rate = 0.1;

/** Operands in the order of a work's tensors, and results: the loss, gradients, and parameters after the step. */
export interface HandWritten {
  readonly model: Uint8Array;
  readonly inputs: readonly Value[];
  readonly parameters: readonly string[];
  readonly updated: readonly string[];
  readonly gradients: readonly string[];
}

class Graph extends Emitter {
  readonly inputs: Value[] = [];

  constructor() {
    super(() => {
      throw new Error('sizes are fixed');
    });
  }

  input(shape: readonly number[], element: Value['element'] = 'f32'): Value {
    const value = { id: `in${this.inputs.length}`, element, shape };
    this.inputs.push(value);
    return value;
  }

  c(value: number): Value {
    return this.constant(value, 'f32');
  }

  add = (x: Value, y: Value): Value => this.binary('add', x, y);
  sub = (x: Value, y: Value): Value => this.binary('subtract', x, y);
  mul = (x: Value, y: Value): Value => this.binary('multiply', x, y);
  scale = (x: Value, by: number): Value => this.mul(x, this.c(by));

  /** [n, i] by a weight [o, i]. */
  linear(x: Value, w: Value, b: Value): Value {
    return this.op('Gemm', [x, w, b], 'f32', [x.shape[0]!, w.shape[0]!], { transB: 1 });
  }

  /** The gradient of a weight [o, i]. */
  weightGradient(dy: Value, x: Value): Value {
    return this.op('Gemm', [dy, x], 'f32', [dy.shape[1]!, x.shape[1]!], { transA: 1 });
  }

  swap(x: Value): Value {
    const last = x.shape.length - 1;
    return this.transpose(
      x,
      x.shape.map((_, d) => (d === last ? last - 1 : d === last - 1 ? last : d)),
    );
  }

  /** The model with its results: the loss, and for each parameter its gradient and its value after the step. */
  model(loss: Value, trained: readonly (readonly [Value, Value])[]): HandWritten {
    const results = [this.named(loss, 'loss')];
    const [parameters, updated, gradients]: string[][] = [[], [], []];
    for (const [parameter, gradient] of trained) {
      parameters!.push(parameter.id);
      gradients!.push(`${parameter.id}.grad`);
      updated!.push(`${parameter.id}.next`);
      results.push(this.named(gradient, `${parameter.id}.grad`));
      const next = this.sub(parameter, this.scale(gradient, rate));
      results.push(this.named(next, `${parameter.id}.next`));
    }
    const info = ({ id, element, shape }: Value) => valueInfo(id, element, shape, () => '');
    const model = encodeMessage(modelSchema, {
      irVersion: 8,
      producerName: 'hand',
      opsetImport: [{ domain: '', version: 18 }],
      graph: graphOf('step', this.nodes, this.inputs.map(info), results.map(info), [
        ...this.initializers,
      ]),
      metadata: [],
      functions: [],
    });
    const { inputs } = this;
    return { model, inputs, parameters: parameters!, updated: updated!, gradients: gradients! };
  }
}

/** W3: 784-512-512-10, cross-entropy. */
export function mlpStep(batch: number): HandWritten {
  const to = new Graph();
  const x = to.input([batch, 784]);
  const labels = to.input([batch], 'i32');
  const layers = [
    [784, 512],
    [512, 512],
    [512, 10],
  ].map(([i, o]) => [to.input([o!, i!]), to.input([o!])] as const);
  const [first, second, third] = layers as [Layer, Layer, Layer];
  const relu = (y: Value) => to.op('Relu', [y], 'f32', y.shape);
  const h1 = relu(to.linear(x, ...first));
  const h2 = relu(to.linear(h1, ...second));
  const logits = to.linear(h2, ...third);
  const log = to.op('LogSoftmax', [logits], 'f32', logits.shape, { axis: -1 });
  const indices = to.convert(labels, 'i64');
  const values = to.literal([0, 1], 'f32', [2]);
  const oneHot = to.op('OneHot', [indices, to.ints([10]), values], 'f32', logits.shape);
  const loss = to.scale(to.reduce('sum', to.mul(log, oneHot), [0, 1]), -1 / batch);
  const d3 = to.scale(to.sub(to.unary('exponential', log), oneHot), 1 / batch);
  const masked = (dh: Value, h: Value) =>
    to.mul(dh, to.convert(to.compare('GT', h, to.c(0)), 'f32'));
  const d2 = masked(to.matmul(d3, third[0]), h2);
  const d1 = masked(to.matmul(d2, second[0]), h1);
  return to.model(loss, [
    ...gradientsOf(to, first, x, d1),
    ...gradientsOf(to, second, h1, d2),
    ...gradientsOf(to, third, h2, d3),
  ]);
}

type Layer = readonly [Value, Value];

const gradientsOf = (to: Graph, [w, b]: Layer, x: Value, dy: Value) =>
  [
    [w, to.weightGradient(dy, x)],
    [b, to.reduce('sum', dy, [0])],
  ] as const;

interface Sizes {
  readonly batch: number;
  readonly steps: number;
  readonly width: number;
  readonly heads: number;
}

interface Normalized {
  readonly y: Value;
  readonly backward: (dy: Value) => { readonly dx: Value; readonly gradients: Trained };
}

type Trained = readonly (readonly [Value, Value])[];

function layerNorm(to: Graph, x: Value, g: Value, b: Value): Normalized {
  const rows = [x.shape[0]!, 1];
  const [y, mean, scale] = to.node(
    'LayerNormalization',
    [x, g, b],
    [x.shape, rows, rows].map((shape) => ({ element: 'f32', shape })),
    { axis: -1, epsilon: { float: 1e-5 } },
  ) as [Value, Value, Value];
  return {
    y,
    backward(dy) {
      const own = to.mul(to.sub(x, mean), scale);
      const d = to.mul(dy, g);
      const average = (each: Value) => to.reduce('mean', each, [1], true);
      const inner = to.sub(to.sub(d, average(d)), to.mul(own, average(to.mul(d, own))));
      return {
        dx: to.mul(scale, inner),
        gradients: [
          [g, to.reduce('sum', to.mul(dy, own), [0])],
          [b, to.reduce('sum', dy, [0])],
        ],
      };
    },
  };
}

function gelu(to: Graph, x: Value) {
  const c = Math.sqrt(2 / Math.PI);
  const square = to.mul(x, x);
  const cube = to.mul(square, x);
  const t = to.unary('tanh', to.scale(to.add(x, to.scale(cube, 0.044715)), c));
  const half = to.scale(x, 0.5);
  const y = to.mul(half, to.add(t, to.c(1)));
  const slope = () => {
    const inner = to.add(to.scale(square, 3 * 0.044715 * c), to.c(c));
    const outer = to.mul(half, to.sub(to.c(1), to.mul(t, t)));
    return to.add(to.scale(to.add(t, to.c(1)), 0.5), to.mul(outer, inner));
  };
  return { y, slope };
}

/** W4: a pre-norm block with mean squared error. */
export function blockStep({ batch, steps, width, heads }: Sizes): HandWritten {
  const to = new Graph();
  const [given, target] = [to.input([batch, steps, width]), to.input([batch, steps, width])];
  const vector = (n: number) => to.input([n]);
  const layer = (i: number, o: number): Layer => [to.input([o, i]), vector(o)];
  const [g1, b1, g2, b2] = [vector(width), vector(width), vector(width), vector(width)];
  const [project, join] = [layer(width, 3 * width), layer(width, width)];
  const [widen, narrow] = [layer(width, 4 * width), layer(4 * width, width)];
  const rows = batch * steps;
  const size = width / heads;
  const flat = [rows, width];
  const x = to.reshape(given, flat);
  const first = layerNorm(to, x, g1!, b1!);
  const all = to.reshape(to.linear(first.y, ...project), [batch, steps, 3, heads, size]);
  const stacked = to.transpose(all, [2, 0, 3, 1, 4]);
  const headed = [batch, heads, steps, size];
  const [q, k, v] = [0, 1, 2].map((i) =>
    to.op('Gather', [stacked, to.constant(i, 'i64')], 'f32', headed, { axis: 0 }),
  ) as [Value, Value, Value];
  const share = 1 / Math.sqrt(size);
  const scores = to.scale(to.matmul(q, to.swap(k)), share);
  const p = to.op('Softmax', [scores], 'f32', scores.shape, { axis: -1 });
  const mixed = to.reshape(to.transpose(to.matmul(p, v), [0, 2, 1, 3]), flat);
  const y = to.add(x, to.linear(mixed, ...join));
  const second = layerNorm(to, y, g2!, b2!);
  const wide = to.linear(second.y, ...widen);
  const hidden = gelu(to, wide);
  const z = to.add(y, to.linear(hidden.y, ...narrow));
  const error = to.sub(z, to.reshape(target, flat));
  const loss = to.reduce('mean', to.mul(error, error), [0, 1]);

  const dz = to.scale(error, 2 / (rows * width));
  const dWide = to.mul(to.matmul(dz, narrow[0]), hidden.slope());
  const after = second.backward(to.matmul(dWide, widen[0]));
  const dy = to.add(dz, after.dx);
  const dMixed = to.transpose(
    to.reshape(to.matmul(dy, join[0]), [batch, steps, heads, size]),
    [0, 2, 1, 3],
  );
  const dv = to.matmul(to.swap(p), dMixed);
  const dp = to.matmul(dMixed, to.swap(v));
  const centred = to.sub(dp, to.reduce('sum', to.mul(dp, p), [3], true));
  const ds = to.scale(to.mul(p, centred), share);
  const parts = [to.matmul(ds, k), to.matmul(to.swap(ds), q), dv];
  const stack = parts.map((each) => to.reshape(each, [1, ...headed]));
  const dStacked = to.concatenate(stack, 0, 3);
  const dAll = to.reshape(to.transpose(dStacked, [1, 3, 0, 2, 4]), [rows, 3 * width]);
  const before = first.backward(to.matmul(dAll, project[0]));
  return to.model(loss, [
    ...before.gradients,
    ...after.gradients,
    ...gradientsOf(to, project, first.y, dAll),
    ...gradientsOf(to, join, mixed, dy),
    ...gradientsOf(to, widen, second.y, dWide),
    ...gradientsOf(to, narrow, hidden.y, dz),
  ]);
}
