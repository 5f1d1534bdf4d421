/** The example of docs/export.md: a model that is exported here in a job of Ray Data. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { saveNpy } from '../../runtime/weights/index.ts';
import { exportOnnx } from '../../src/export/index.ts';
import { nn, noGrad, randn, seed, type Tensor, tensorSpec, toStatic } from '../../src/index.ts';
import { pythonWith, withInterop } from './python.ts';

const packages = ['ray[data]==2.58.0', 'onnxruntime==1.30.0', 'numpy'];
const python = withInterop('a job of Ray Data', () => pythonWith(packages));
const folder = mkdtempSync(join(tmpdir(), 'tostatic-ray-'));
afterAll(() => rmSync(folder, { recursive: true }));

const documented = (): string => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/export.md'), 'utf8');
  return /```python\n([\s\S]*?)```/.exec(text)![1]!;
};

it('the documented job is for the model of the page', () => {
  expect(documented()).toContain("run(['result'], {'x': batch['data']})");
});

it.runIf(python)(
  'labels every image as we do',
  async () => {
    seed(4);
    const net = new nn.Sequential(new nn.Linear(784, 10), new nn.Softmax(1));
    const predict = toStatic((x: Tensor) => net.forward(x), {
      fullGraph: true,
      inputSpec: [tensorSpec(['batch', 784], 'float32', 'x')],
    });
    mkdirSync(join(folder, 'images'));
    const files = [randn([300, 784]), randn([57, 784])];
    const expected = files.flatMap((images) =>
      noGrad(() => Array.from(predict(images).argmax(1).dataSync() as Int32Array)),
    );
    for (const [i, images] of files.entries()) {
      await saveNpy(images, join(folder, `images/${i}.npy`));
    }
    writeFileSync(join(folder, 'model.onnx'), (await exportOnnx(predict)).model);
    const reader = `
import json
print(json.dumps(sorted(row['label'] for row in ray.data.read_parquet('labels').take_all())))
`;
    writeFileSync(join(folder, 'job.py'), documented() + reader);
    const output = execFileSync(python!, ['job.py'], {
      cwd: folder,
      encoding: 'utf8',
      timeout: 240_000,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, RAY_USAGE_STATS_ENABLED: '0' },
    });
    const labels = JSON.parse(output.trim().split('\n').at(-1)!) as number[];
    expect(labels).toEqual(expected.sort((a, b) => a - b));
  },
  300_000,
);
