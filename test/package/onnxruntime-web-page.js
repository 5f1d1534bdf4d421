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
  return { batches, step };
}

async function trainedBy(engine) {
  const { batches, step } = digits();
  const backend = onnxruntimeWebBackend(ort, {
    session: { executionProviders: [engine] },
  });
  const captured = toStatic(async (x, y) => step(x, y), { backend });
  const losses = [];
  for (const [x, y] of batches) losses.push((await captured(x, y)).itemSync());
  const { breaks, fallbacks } = captured.stats();
  return { losses, breaks: breaks.length, fallbacks: fallbacks.length, report: backend.report() };
}

const eager = digits();
const report = {
  eager: eager.batches.map(([x, y]) => eager.step(x, y).itemSync()),
  wasm: await trainedBy('wasm'),
  webgpu: await trainedBy('webgpu'),
};
await fetch('/', { method: 'POST', body: JSON.stringify(report) });
