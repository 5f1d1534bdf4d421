/** A training step and a prediction in a page, by onnxruntime-web on each of its engines that the page has. */

import * as ort from 'onnxruntime-web/webgpu';
import { crossEntropy, nn, optim, randint, randn, seed, toStatic } from 'tostatic';
import { onnxruntimeWebBackend } from 'tostatic/onnxruntime/web';

function digits() {
  seed(3);
  const model = new nn.Sequential(
    ...[new nn.Conv2d(1, 8, 3, { padding: 1 }), new nn.ReLU(), new nn.MaxPool2d(2)],
    ...[new nn.Flatten(), new nn.Linear(128, 10)],
  );
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
  const batches = Array.from({ length: 5 }, () => [randn([4, 1, 8, 8]), randint(0, 10, [4])]);
  const step = (x, y) => {
    const loss = crossEntropy(model.forward(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  return { batches, step, parameters: [...model.parameters()] };
}

/** With `options`, what the session is opened with besides: results may be read later alone. */
async function trainedBy(engine, options = {}) {
  const { batches, step, parameters } = digits();
  const backend = onnxruntimeWebBackend(ort, {
    session: { executionProviders: [engine], ...options },
  });
  const captured = toStatic(async (x, y) => step(x, y), { backend });
  const losses = [];
  for (const [x, y] of batches) {
    const loss = await captured(x, y);
    losses.push(await loss.item());
    loss.dispose();
  }
  const { breaks, fallbacks } = captured.stats();
  const report = backend.report();
  const read = await Promise.all(parameters.map((each) => each.data()));
  await backend.land();
  return {
    losses,
    breaks: breaks.length,
    fallbacks: fallbacks.length,
    report,
    bytes: parameters.reduce((sum, each) => sum + each.numel() * 4, 0),
    isSame: parameters.every((each, i) => each.dataSync().every((x, k) => x === read[i][k])),
    sum: sumOf(parameters),
    left: backend.report().arrays.onGpu,
  };
}

const sumOf = (parameters) =>
  parameters.reduce((sum, each) => sum + each.abs().sum().itemSync(), 0);

const eager = digits();
const report = {
  eager: eager.batches.map(([x, y]) => eager.step(x, y).itemSync()),
  sum: sumOf(eager.parameters),
  wasm: await trainedBy('wasm'),
  webgpu: await trainedBy('webgpu'),
  kept: await trainedBy('webgpu', { preferredOutputLocation: 'gpu-buffer' }),
};
await fetch('/', { method: 'POST', body: JSON.stringify(report) });
