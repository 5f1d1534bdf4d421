// node onnxruntime.mjs onnxruntime-web|onnxruntime-node FOLDER WORK ROUNDS THREADS: prints { least, median } in ms.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const [engine, folder, work, rounds, threads] = process.argv.slice(2);
const ort = await import(engine);
if (engine === 'onnxruntime-web') {
  ort.env.wasm.numThreads = Number(threads);
  ort.env.logLevel = 'error';
}
const session = await ort.InferenceSession.create(readFileSync(join(folder, `${work}.onnx`)), {
  executionProviders: [engine === 'onnxruntime-web' ? 'wasm' : 'cpu'],
  intraOpNumThreads: Number(threads),
  graphOptimizationLevel: 'all',
});
const { inputs, outputs } = JSON.parse(readFileSync(join(folder, `${work}.json`), 'utf8'));
const file = readFileSync(join(folder, `${work}.safetensors`));
const headerLength = Number(file.readBigUInt64LE(0));
const header = JSON.parse(file.subarray(8, 8 + headerLength).toString());
const types = {
  f32: ['float32', Float32Array],
  f64: ['float64', Float64Array],
  i32: ['int32', Int32Array],
  i64: ['int64', BigInt64Array],
};
const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);

const feeds = {};
for (const { name, type, shape, value } of inputs) {
  const [dtype, TypedArray] = types[type];
  const stored = header[name];
  let data;
  if (stored) {
    const [from, to] = stored.data_offsets;
    const bytes = file.subarray(8 + headerLength + from, 8 + headerLength + to);
    data = new TypedArray(new Uint8Array(bytes).buffer);
  } else if (value !== null) {
    data = TypedArray.of(value);
  } else {
    data = TypedArray.from({ length: sizeOf(shape) }, (_, i) => Math.sin(i * 0.7) * 0.8);
  }
  feeds[name] = new ort.Tensor(dtype, data, shape);
}
const times = [];
for (let round = -3; round < Number(rounds); round++) {
  const start = performance.now();
  const results = await session.run(feeds);
  if (round >= 0) times.push(performance.now() - start);
  for (const { name, feeds: target } of outputs) if (target) feeds[target] = results[name];
}
times.sort((a, b) => a - b);
console.log(JSON.stringify({ least: times[0], median: times[times.length >> 1] }));
process.exit(0);
