/** One of the processes that `main.ts` compares: ENGINE WORK MODEL FOLDER THREADS. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { init, noGrad, type Tensor, tensor, tidy, toStatic, zeros } from '../../src/index.ts';
import { importOnnx } from '../../src/onnx/index.ts';
import { runOnRequest } from '../interleaved.ts';

const [engine, work, file, folder, threads] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];
const isVad = work.startsWith('silero');
const [batch, length] = isVad ? [1, 576] : work.split('-')[1]!.split('x').map(Number);
const shape = [batch!, length!];
const ids = Int32Array.from({ length: batch! * length! }, (_, i) => (i * 7919) % 30000);
/** The `number`th chunk of 32 ms, preceded by the end of the previous one. */
const chunk = (number: number): Float32Array =>
  Float32Array.from({ length: 576 }, (_, i) => Math.sin((number * 512 + i) * 0.07) * 0.3);
const chunks = Array.from({ length: 31 }, (_, i) => chunk(i));

async function ours(): Promise<() => number> {
  await init('cpu', { threads: Number(threads) });
  const model = await importOnnx(file);
  if (!isVad) {
    const run = toStatic((x: Tensor, mask: Tensor) => model.forward(x, mask) as Tensor, {
      fullGraph: true,
    });
    const given = [
      tensor(ids, { shape }),
      tensor(new Uint8Array(ids.length).fill(1), { shape, dtype: 'bool' }),
    ] as const;
    return () => tidy(() => noGrad(() => run(...given)).dataSync()[5]!);
  }
  const detect = toStatic(
    (x: Tensor, state: Tensor) => model.forward(x, state, 16000) as Tensor[],
    { fullGraph: true },
  );
  return () =>
    tidy(() => {
      let [state, sum]: [Tensor, number] = [zeros([2, 1, 128]), 0];
      for (const data of chunks) {
        const [probability, next] = noGrad(() => detect(tensor(data, { shape }), state));
        sum += probability!.itemSync() as number;
        state = next!;
      }
      return sum / chunks.length;
    });
}

/** The part of the package used here. */
interface Ort {
  readonly env: { readonly wasm: { numThreads: number }; logLevel: string };
  readonly InferenceSession: {
    create(
      model: Uint8Array,
      options: object,
    ): Promise<{
      readonly inputNames: readonly string[];
      readonly outputNames: readonly string[];
      run(feeds: object): Promise<Record<string, { readonly data: Float32Array }>>;
    }>;
  };
  readonly Tensor: new (type: string, data: ArrayLike<unknown>, dims?: readonly number[]) => object;
}

async function theirs(): Promise<() => Promise<number>> {
  const entry = join(folder, 'node_modules/onnxruntime-web/dist/ort.node.min.mjs');
  const ort = (await import(pathToFileURL(entry).href)) as Ort;
  ort.env.wasm.numThreads = Number(threads);
  ort.env.logLevel = 'error';
  const session = await ort.InferenceSession.create(readFileSync(file), {
    executionProviders: ['wasm'],
    graphOptimizationLevel: 'all',
  });
  if (!isVad) {
    const mask = new ort.Tensor('bool', new Uint8Array(ids.length).fill(1), shape);
    const feeds = { ids: new ort.Tensor('int32', ids, shape), mask };
    const [name] = session.outputNames;
    return async () => (await session.run(feeds))[name!]!.data[5]!;
  }
  const sr = new ort.Tensor('int64', BigInt64Array.of(16000n) as never, []);
  const [probability, next] = session.outputNames as [string, string];
  return async () => {
    let [state, sum]: [object, number] = [
      new ort.Tensor('float32', new Float32Array(256), [2, 1, 128]),
      0,
    ];
    for (const data of chunks) {
      const input = new ort.Tensor('float32', data, shape);
      const results = await session.run({ input, state, sr });
      sum += results[probability]!.data[0]!;
      state = results[next]!;
    }
    return sum / chunks.length;
  };
}

const step = engine === 'tostatic' ? await ours() : await theirs();
runOnRequest(step, () => '');
