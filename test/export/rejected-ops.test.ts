/** Programs without a form in another engine; for an op, the error names its line. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { exportOnnx, exportStableHLO } from '../../src/export/index.ts';
import { type ArgumentError, eye, save, type Tensor, toStatic } from '../../src/index.ts';

const file = fileURLToPath(import.meta.url);
const lineOf = (text: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .findIndex((line) => line.includes(text)) + 1;

const exporters = { ONNX: exportOnnx, StableHLO: exportStableHLO };

it.each(Object.keys(exporters) as (keyof typeof exporters)[])('for %s', async (name) => {
  const f = toStatic(
    (x: Tensor) => {
      const y = x.add(1);
      return y.inverse().mul(2);
    },
    { fullGraph: true },
  );
  f(eye(3));
  for (const given of [f, await save(f)]) {
    const failed = exporters[name](given).then(null, (error: ArgumentError) => error);
    expect(await failed).toMatchObject({
      name: 'ArgumentError',
      at: { line: lineOf('y.inverse()') },
    });
  }
});

it.each(Object.keys(exporters) as (keyof typeof exporters)[])(
  'for %s, a program that only returns its arguments',
  async (name) => {
    const f = toStatic(
      (x: Tensor) => {
        x.flip([0]).add_(1);
        return [x];
      },
      { fullGraph: true },
    );
    f(eye(3));
    await expect(exporters[name](f)).rejects.toThrow(/nothing to export/);
  },
);
