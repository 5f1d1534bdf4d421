/** What a model computes of its constants alone is computed when it is imported, if that is no more than rearranging. */

import { describe, expect, it } from 'vitest';
import { memory, noGrad, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { importOnnx } from '../../src/onnx/index.ts';
import { constant, graph, modelFile, node, numbers } from './model-file.ts';

const range = (count: number, dims: readonly number[]) =>
  numbers(
    'float',
    Array.from({ length: count }, (_, i) => (i % 32) * 0.25 - 3),
    dims,
  );
const ints = (...values: number[]) => numbers('int64', values);
/** More numbers than a setting has. */
const [rows, columns] = [6, 40];
const weight = range(rows * columns, [rows, columns]);
const inputs = Array.from({ length: columns }, (_, i) => (i % 7) - 2);
const x = tensor(inputs, { shape: [1, columns] });

const kernelsOf = (body: () => unknown): string[] =>
  memory
    .record(() => void body())
    .events.flatMap((event) => (event.kind === 'kernel' ? [event.op] : []));

/** Halves of a matrix change places, and it is transposed: x · [b, a]ᵀ. */
const exchange = (weight: string) => [
  constant('zero', ints(0)),
  constant('three', ints(3)),
  constant('six', ints(6)),
  node('Slice', `${weight} zero three zero`, 'first'),
  node('Slice', `${weight} three six zero`, 'second'),
  node('Concat', 'second first', 'exchanged', { axis: 0 }),
  node('Transpose', 'exchanged', 'turned', { perm: [1, 0] }),
  node('MatMul', 'input turned', 'y'),
];

const given = { input: ['float', [1, columns]] } as const;
const expected = (): number[] =>
  [3, 4, 5, 0, 1, 2].map((row) =>
    inputs.reduce((sum, value, i) => sum + value * (((row * columns + i) % 32) * 0.25 - 3), 0),
  );

describe('constants of a model', () => {
  it('are rearranged once', async () => {
    const before = memory.stats('cpu').allocated;
    const file = graph(given, ['y'], [constant('w', weight), ...exchange('w')]);
    const model = await importOnnx(modelFile(file));
    // One matrix, and not its parts.
    expect(memory.stats('cpu').allocated - before).toBeLessThanOrEqual(rows * columns * 4);
    const run = (input: Tensor) => noGrad(() => model.forward(input) as Tensor);
    expect(kernelsOf(() => run(x))).toEqual(['matmul']);
    expect([...run(x).dataSync()]).toEqual(expected());
    const compiled = toStatic(run, { fullGraph: true });
    for (let i = 0; i < 3; i++) expect([...compiled(x).dataSync()]).toEqual(expected());
  });

  it('are those of the branches of an If, too', async () => {
    const inner = graph({}, ['y'], [constant('w', weight), ...exchange('w')]);
    const other = graph({}, ['y'], [node('Identity', 'input', 'y')]);
    const nodes = [
      constant('one', numbers('int64', [1], [])),
      node('Equal', 'which one', 'is-one'),
      node('If', 'is-one', 'y', { then_branch: { graph: inner }, else_branch: { graph: other } }),
    ];
    const file = graph({ ...given, which: ['int64', []] }, ['y'], nodes);
    const model = await importOnnx(modelFile(file));
    expect(kernelsOf(() => noGrad(() => model.forward(x, 1)))).toEqual(['matmul']);
    expect([...(model.forward(x, 1) as Tensor).dataSync()]).toEqual(expected());
  });

  it('are no weights: those are learned as they are', async () => {
    const file = graph(given, ['y'], exchange('w'), { w: weight });
    const model = await importOnnx(modelFile(file));
    expect(Object.keys(model.stateDict())).toEqual(['w']);
    const y = model.forward(x) as Tensor;
    expect([...y.dataSync()]).toEqual(expected());
    y.sum().backward();
    const [w] = model.parameters();
    expect(w!.shape).toEqual([rows, columns]);
    expect([...w!.grad!.dataSync()]).toEqual(Array.from({ length: rows }, () => inputs).flat());
  });

  it('grow no further than a few times the file', async () => {
    // Each node doubles what the one before has made: 2^40 elements at last.
    const nodes = [constant('c0', range(1024, [1024]))];
    for (let i = 0; i < 40; i++) {
      nodes.push(node('Identity', `c${i}`, `d${i}`));
      nodes.push(node('Concat', `c${i} d${i}`, `c${i + 1}`, { axis: 0 }));
    }
    nodes.push(constant('zero', ints(0)), constant('four', ints(4)));
    nodes.push(node('Identity', 'input', 'y'));
    const before = memory.stats('cpu').allocated;
    const model = await importOnnx(modelFile(graph(given, ['y'], nodes)));
    expect(memory.stats('cpu').allocated - before).toBeLessThan(8 * 4096);
    model.dispose();
  });

  it('that cannot be rearranged fail where the model runs', async () => {
    const nodes = [
      constant('w', weight),
      constant('sizes', ints(5, 5)),
      node('Reshape', 'w sizes', 'bad'),
      node('MatMul', 'input bad', 'y'),
    ];
    const model = await importOnnx(modelFile(graph(given, ['y'], nodes)));
    expect(() => model.forward(x)).toThrow('reshape');
  });
});
