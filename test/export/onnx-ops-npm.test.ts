/** Ops in ONNX, and training steps, in onnxruntime's packages for Node and for the web. */

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Tensor } from '../../runtime/index.ts';
import { numbersOf } from '../../runtime/spec/stored-numbers.ts';
import { exportOnnx, type OnnxExport } from '../../src/export/index.ts';
import { exportModel } from '../../src/export/onnx/export-program.ts';
import { isMapped } from '../../src/export/onnx/mapping.ts';
import { npmPackage } from './npm-package.ts';
import { difference, type OpSample, opSamples, programOf } from './op-samples.ts';
import { withInterop } from './python.ts';
import { steps, type Trained, trained, trainingCases } from './training-steps.ts';

type Elements = ArrayLike<number | bigint>;

interface Ort {
  readonly env: { logLevel: string };
  readonly InferenceSession: {
    create(
      model: Uint8Array,
      options: object,
    ): Promise<{
      run(feeds: object): Promise<Record<string, { readonly data: Elements }>>;
      release(): Promise<void>;
    }>;
  };
  readonly Tensor: new (type: string, data: unknown, dims: readonly number[]) => object;
}

async function loaded(): Promise<(readonly [string, Ort])[]> {
  const node = npmPackage('onnxruntime-node@1.30.0');
  const web = npmPackage('onnxruntime-web@1.30.0');
  const found: (readonly [string, Ort])[] = [];
  if (node) found.push(['onnxruntime-node', createRequire(import.meta.url)(node) as Ort]);
  if (web) {
    const entry = pathToFileURL(join(web, 'dist/ort.node.min.mjs')).href;
    found.push(['onnxruntime-web', (await import(entry)) as Ort]);
  }
  for (const [, { env }] of found) env.logLevel = 'fatal';
  return found;
}

const packages = (await withInterop("exports in onnxruntime's npm packages", loaded)) ?? [];

it.runIf(packages.length > 0)('both packages are there', () => {
  expect(packages.map(([name]) => name)).toEqual(['onnxruntime-node', 'onnxruntime-web']);
});

const samples = packages.length > 0 ? opSamples(isMapped) : [];
const ops = [...new Set(samples.map(({ name }) => name))];

/** onnxruntime has no float64 kernels for these, which ONNX itself has. */
const isLacking = ({ key, name }: OpSample): boolean =>
  key.includes('float64') && /^(asin|acos|atan|atan2)_?$|[cC]onv/.test(name);

const feedOf = ({ Tensor: Own }: Ort, value: Tensor): object =>
  new Own(value.dtype, value.dataSync().slice(), value.shape);

describe.each(packages)('ops in %s', (_name, ort) => {
  it.each(ops)('%s', async (name) => {
    const own = samples.filter((sample) => sample.name === name);
    for (const sample of own) {
      const { model, outputs, inputs } = await exportModel(programOf([sample]), null);
      const run = async () => {
        const session = await ort.InferenceSession.create(model, { logSeverityLevel: 4 });
        const given = inputs.map((port, i) => [port.name, feedOf(ort, sample.inputs[i]!)]);
        const results = await session.run(Object.fromEntries(given));
        await session.release();
        return outputs.map(({ name: result, type }) => {
          const { data } = results[result]!;
          return type === 'f16'
            ? numbersOf(data as Uint16Array, 'float16')
            : Array.from(data, Number);
        });
      };
      // JavaScript's packages have no tensors of bfloat16.
      if (outputs.some(({ type }) => type === 'bf16')) {
        await expect(run()).rejects.toThrow(/nsupported data type: 16/);
      } else if (isLacking(sample))
        await run().catch((error) => expect(String(error)).toMatch(/NOT_IMPL|implement/));
      else expect(difference(sample, await run())).toBe('');
    }
  });
});

describe.each(packages)('training steps in %s', (_name, ort) => {
  const made = new Map<string, Trained<OnnxExport>>();
  beforeAll(async () => {
    for (const [name, { build }] of Object.entries(trainingCases)) {
      made.set(name, await trained(build, exportOnnx));
    }
  }, 300_000);

  it.each(Object.keys(trainingCases))('have our losses: %s', async (name) => {
    const { exported, inputs, batches, losses, lossAt } = made.get(name)!;
    const { inputs: ports, outputs } = exported.sidecar;
    const session = await ort.InferenceSession.create(exported.model, { logSeverityLevel: 4 });
    const feeds = Object.fromEntries(ports.map((port, i) => [port.name, feedOf(ort, inputs[i]!)]));
    const found: number[] = [];
    for (let step = 0; step < steps; step++) {
      const results = await session.run(feeds);
      found.push(Number(results[outputs[lossAt]!.name]!.data[0]));
      for (const { name: result, feeds: target } of outputs) {
        if (target) feeds[target] = results[result]!;
      }
      for (const [i, value] of batches[step] ?? []) feeds[ports[i]!.name] = feedOf(ort, value);
    }
    const error = Math.max(...found.map((loss, i) => Math.abs(loss - losses[i]!)));
    expect(error).toBeLessThan(trainingCases[name]!.tolerance);
  });
});
