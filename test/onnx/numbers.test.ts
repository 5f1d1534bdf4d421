/** What a model computes from shapes are numbers, known when it is compiled, fractions among them; and sequences of many lengths. */

import { describe, expect, it } from 'vitest';
import type { OnnxTensor } from '../../runtime/onnx/format/proto.ts';
import { noGrad, randn, seed, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { importOnnx } from '../../src/onnx/index.ts';
import { graph, modelFile, node, numbers } from './model-file.ts';

interface Case {
  readonly constants: Readonly<Record<string, OnnxTensor>>;
  /** From `x`, of shape [n, 6], to `y`. */
  readonly nodes: readonly ReturnType<typeof node>[];
  /** The first elements of the result, and its shape, of the rows 0, 1, 2 … */
  readonly expected: (n: number) => { readonly shape: number[]; readonly first: number };
}

const ints = (...values: number[]) => numbers('int64', values);
const float = (...values: number[]) =>
  numbers('float', values, values.length === 1 ? [] : undefined);

const cases: Readonly<Record<string, Case>> = {
  'a size that is halved and rounded': {
    constants: { half: float(0.5), zeros: ints(0, 0) },
    nodes: [
      node('Shape', 'x', 's'),
      node('Cast', 's', 'f', { to: 1 }),
      node('Mul', 'f half', 'h'),
      node('Floor', 'h', 'r'),
      node('Cast', 'r', 'size', { to: 7 }),
      node('Slice', 'x zeros size', 'y'),
    ],
    expected: (n) => ({ shape: [Math.floor(n / 2), 3], first: 0 }),
  },
  'the products of float32, which round up to the size': {
    constants: { share: float(0.7), zero: ints(0), ten: float(10, 10) },
    nodes: [
      node('Shape', 'x', 's'),
      node('Cast', 's', 'f', { to: 1 }),
      node('Sub', 'f f', 'z'),
      node('Add', 'z ten', 't'),
      node('Mul', 't share', 'p'),
      node('Floor', 'p', 'r'),
      node('Cast', 'r', 'i', { to: 7 }),
      node('ReduceSum', 'i', 'sum', { keepdims: 1 }),
      node('Expand', 'sum sum', 'y'),
    ],
    // 0.7 is a little less as float32; ten times as much is 7 again.
    expected: () => ({ shape: [14], first: 14 }),
  },
  'the root of a size': {
    constants: { last: ints(1) },
    nodes: [
      node('Shape', 'x', 's'),
      node('Gather', 's last', 'd'),
      node('Cast', 'd', 'f', { to: 1 }),
      node('Sqrt', 'f', 'root'),
      node('Div', 'x root', 'q'),
      node('Add', 'q root', 'y'),
    ],
    expected: (n) => ({ shape: [n, 6], first: Math.fround(Math.sqrt(6)) }),
  },
  'sizes that are split, and come together the other way round': {
    constants: {},
    nodes: [
      node('Shape', 'x', 's'),
      node('Split', 's', 'a b'),
      node('Concat', 'b a', 't', { axis: 0 }),
      node('Reshape', 'x t', 'y'),
    ],
    expected: (n) => ({ shape: [6, n], first: 0 }),
  },
  'one size that is replaced': {
    constants: { at: numbers('int64', [1], [1, 1]), rest: ints(-1), two: ints(2) },
    nodes: [
      node('Shape', 'x', 's'),
      node('ScatterND', 's at rest', 't'),
      node('Concat', 't two', 'u', { axis: 0 }),
      node('Reshape', 'x u', 'y'),
    ],
    expected: (n) => ({ shape: [n, 3, 2], first: 0 }),
  },
  'integers beyond 32 bits, as fractions': {
    constants: { large: ints(2 ** 40) },
    nodes: [node('Cast', 'large', 'f', { to: 1 }), node('Add', 'x f', 'y')],
    expected: (n) => ({ shape: [n, 6], first: 2 ** 40 }),
  },
};

describe('numbers that a model computes', () => {
  it.each(Object.keys(cases))('are part of the program: %s', async (name) => {
    const { constants, nodes, expected } = cases[name]!;
    const main = graph({ x: ['float', ['n', 6]] }, ['y'], nodes, constants);
    const model = await importOnnx(modelFile(main));
    expect(Object.keys(model.stateDict())).toEqual([]);
    const forward = (input: Tensor) => model.forward(input) as Tensor;
    const compiled = toStatic(forward, { fullGraph: true });
    for (const n of [4, 7]) {
      const x = tensor(
        Float32Array.from({ length: 6 * n }, (_, i) => i),
        { shape: [n, 6] },
      );
      const { shape, first } = expected(n);
      for (const run of [forward, compiled]) {
        const y = noGrad(() => run(x));
        expect(y.shape).toEqual(shape);
        expect(y.dataSync()[0]).toBe(first);
      }
    }
  });
});

const loopBody = (outputs: readonly string[]) =>
  graph({ i: ['int64', []], c: ['bool', []], a: ['float', [2]] }, outputs, [
    node('Identity', 'c', 'go'),
    node('Add', 'a a', 'b'),
    node('Mul', 'b b', 'added'),
  ]);

describe('a loop without iterations', () => {
  const looped = (body: ReturnType<typeof loopBody>) => {
    const nodes = [node('Loop', 'count - x', 'last y', { body: { graph: body } })];
    const settings = { count: numbers('int64', [0], []) };
    return importOnnx(modelFile(graph({ x: ['float', [2]] }, ['y'], nodes, settings)));
  };

  it('collects no rows, of the shape that the file has', async () => {
    const body = loopBody(['go', 'b', 'added']);
    const dim = [{ dimValue: 2 }];
    body.output[2]!.type!.tensorType!.shape = { dim };
    const y = (await looped(body)).forward(tensor([1, 2])) as Tensor;
    expect(y.shape).toEqual([0, 2]);
  });

  it('is rejected where the file has none', async () => {
    const model = await looped(loopBody(['go', 'b', 'added']));
    expect(() => model.forward(tensor([1, 2]))).toThrow(/without iterations/);
  });
});

describe('sequences of many lengths', () => {
  const gates = { LSTM: 4, GRU: 3, RNN: 1 } as const;
  const kinds = Object.keys(gates) as (keyof typeof gates)[];
  const floats = (...dims: number[]) => {
    const count = dims.reduce((product, size) => product * size, 1);
    const values = Array.from({ length: count }, (_, i) => Math.sin(3 * i + 1));
    return numbers('float', values, dims);
  };

  it.each(kinds)('run as if each were alone: %s', async (kind) => {
    const constants = {
      w: floats(2, 2 * gates[kind], 3),
      r: floats(2, 2 * gates[kind], 2),
      b: floats(2, 4 * gates[kind]),
    };
    const direction = { hidden_size: 2, direction: 'bidirectional' };
    const nodes = [node(kind, 'x w r b lengths', 'y last', direction)];
    const inputs = { x: ['float', ['t', 'n', 3]], lengths: ['int32', ['n']] } as const;
    const model = await importOnnx(modelFile(graph(inputs, ['y', 'last'], nodes, constants)));
    const run = (x: Tensor, lengths: Tensor) => model.forward(x, lengths) as [Tensor, Tensor];
    const compiled = toStatic(run, { fullGraph: true });
    seed(6);
    const x = randn([5, 3, 3]);
    const lengths = [5, 2, 3];
    const given = tensor(lengths, { dtype: 'int32' });
    const [y, last] = noGrad(() => compiled(x, given));
    expect(y.dataSync()).toEqual(noGrad(() => run(x, given))[0].dataSync());
    lengths.forEach((length, i) => {
      const one = tensor([length], { dtype: 'int32' });
      const alone = noGrad(() => run(x.narrow(1, i, 1).narrow(0, 0, length), one));
      const own = y.narrow(2, i, 1);
      expect(own.narrow(0, 0, length).contiguous().dataSync()).toEqual(alone[0].dataSync());
      expect(
        Number(
          own
            .narrow(0, length, 5 - length)
            .abs()
            .sum()
            .itemSync(),
        ),
      ).toBe(0);
      expect(last.narrow(1, i, 1).contiguous().dataSync()).toEqual(alone[1].dataSync());
    });
  });
});
