/** Ops without a form in another engine: the error names their line. */

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
