/** Kernels that may write over an operand have the same bits when they do. */

import { describe, expect, it } from 'vitest';
import '../../src/index.ts';
import { cpu } from '../../runtime/device/cpu/cpu-device.ts';
import type { Operand } from '../../runtime/device/device.ts';
import type { Attrs } from '../../runtime/device/kernel-op.ts';
import { opNamed, opTable } from '../../runtime/ops/op-table.ts';
import { type DType, memory, type Tensor, tensor, zeros } from '../../src/index.ts';

const [rows, columns] = [6, 37];
const norm = { eps: 1e-5, centered: true };
const layer = { ...norm, view: [rows, columns], over: [1], weightShape: [columns] };
/** Rows are channels of one image. */
const images = { ...norm, view: [1, rows, columns], over: [0, 2], weightShape: [rows, 1] };
const batch = { ...norm, view: [rows, columns], over: [0], weightShape: [columns] };

function numbers(shape: readonly number[], salt: number, dtype: DType): Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  const values = Array.from({ length: size }, (_, i) => Math.sin(i * 1.7 + salt) * 3);
  return tensor(values, { shape: [...shape], dtype });
}

const labels = (): Tensor => tensor([3, -100, 36, 0, 7, 3], { dtype: 'int32' });
const shape = [rows, columns];

const samples: Readonly<Record<string, { attrs?: Attrs; inputs: (dtype: DType) => Tensor[] }[]>> = {
  softmax: [{ inputs: (dtype) => [numbers(shape, 0, dtype)] }],
  logSoftmax: [{ inputs: (dtype) => [numbers(shape, 0, dtype)] }],
  softmaxGrad: [{ inputs: (dtype) => [numbers(shape, 0, dtype), numbers(shape, 1, dtype)] }],
  logSoftmaxGrad: [{ inputs: (dtype) => [numbers(shape, 0, dtype), numbers(shape, 1, dtype)] }],
  crossEntropyGrad: [
    { inputs: (dtype) => [numbers([], 2, dtype), labels(), numbers(shape, 1, dtype)] },
  ],
  standardizeByStats: [layer, images].map((attrs) => ({
    attrs: attrs as unknown as Attrs,
    inputs: (dtype) => [numbers(shape, 0, dtype), numbers([rows, 2], 2, dtype)],
  })),
  standardizeAffineByStats: [layer, images].map((attrs) => ({
    attrs: attrs as unknown as Attrs,
    inputs: (dtype) => [
      numbers(shape, 0, dtype),
      numbers([rows, 2], 2, dtype),
      ...[3, 4].map((salt) => numbers([attrs === layer ? columns : rows], salt, dtype)),
    ],
  })),
  standardizeGrad: [layer, batch].map((attrs) => ({
    attrs: attrs as unknown as Attrs,
    inputs: (dtype) => [
      numbers(shape, 0, dtype),
      numbers(shape, 1, dtype),
      numbers([attrs === layer ? rows : columns, 2], 2, dtype),
    ],
  })),
  standardizeAffineGrad: [layer].map((attrs) => ({
    attrs: attrs as unknown as Attrs,
    inputs: (dtype) => [
      numbers(shape, 0, dtype),
      numbers(shape, 1, dtype),
      numbers([rows, 2], 2, dtype),
      numbers([columns], 3, dtype),
    ],
  })),
};

const operand = ({ holder, offset }: Tensor): Operand => ({ holder: holder!, offset });

function run(name: string, attrs: Attrs, inputs: readonly Tensor[], into: Tensor | null) {
  const op = opNamed(name);
  const [spec] = op.infer(inputs, attrs);
  const out = into ?? zeros([...spec!.shape], { dtype: spec!.dtype });
  const outputs = [out];
  // The statistics of a norm are a second result.
  const stats = op.infer(inputs, attrs)[1];
  if (stats) outputs.push(zeros([...stats.shape], { dtype: stats.dtype }));
  cpu.prepare(op, inputs, outputs, attrs)(inputs.map(operand), outputs.map(operand));
  const values = [...out.dataSync()];
  for (const each of [...inputs, ...outputs.filter((own) => own !== into)]) each.dispose();
  return values;
}

describe('cpu/overwritten operands', () => {
  it('every op that names operands has a sample', () => {
    const named = [...opTable.values()].filter(({ overwrites = [] }) => overwrites.length > 0);
    expect(Object.keys(samples).sort()).toEqual(named.map(({ name }) => name).sort());
  });

  const cases = Object.entries(samples).flatMap(([name, list]) =>
    list.flatMap((sample) =>
      (['float32', 'float64'] as const).map((d) => [name, d, sample] as const),
    ),
  );
  it.each(cases)('%s of %s', (name, dtype, { attrs = {}, inputs }) => {
    const before = memory.stats('cpu').allocated;
    const op = opNamed(name);
    const apart = run(name, attrs, inputs(dtype), null);
    for (const overwritten of op.overwrites!) {
      const own = inputs(dtype);
      const into = own[op.operands.findIndex((one) => one.name === overwritten)]!;
      expect(run(name, attrs, own, into)).toEqual(apart);
    }
    expect(memory.stats('cpu').allocated).toBe(before);
  });

  it.each([0.25, -0.25, 0, -0, Number.NaN])(
    'the gradient of cross entropy is that of its two steps, of %s',
    (dy) => {
      const share = tensor([dy], { shape: [] });
      const logits = numbers(shape, 5, 'float32');
      const logProbs = logits.logSoftmax();
      const [own, target] = [labels(), labels()];
      const sparse = zeros(shape);
      const metas = [share, target, logProbs];
      cpu.prepare(
        opNamed('nllLossGrad'),
        metas,
        [sparse],
        {},
      )(metas.map(operand), [operand(sparse)]);
      const two = run('logSoftmaxGrad', {}, [sparse, logProbs.detach()], null);
      const each = zeros([]);
      const given = [share, target];
      cpu.prepare(opNamed('nllLossShare'), given, [each], {})(given.map(operand), [operand(each)]);
      expect(run('crossEntropyGrad', {}, [each, own, logProbs], null)).toEqual(two);
      for (const tensorOfOurs of [share, logits, target]) tensorOfOurs.dispose();
    },
  );
});
