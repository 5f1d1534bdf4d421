import {
  crossEntropy,
  type Device,
  data,
  deviceGuard,
  init,
  memory,
  noGrad,
  optim,
  type StaticFunction,
  seed,
  shutdown,
  type Tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';
import { models } from '../../mnist/models.ts';
import type { Trained, TrainingProgress, TrainRequest } from '../messages.ts';
import { type Digits, fetchDigits } from './digits.ts';

let digits: Promise<Digits> | undefined;

const batchSize = 100;
const lr = 0.03;

/** Trains one of the models of the main example, with a report per step; yields the thread between steps. */
export async function train(
  request: TrainRequest,
  report: (progress: TrainingProgress) => void,
): Promise<Trained> {
  const { device: kind } = request;
  digits ??= fetchDigits(request.images);
  const found = await digits;
  if (kind === 'cpu') return trainOn(await init('cpu'), found, request, report);
  const device = await init('gpu', { api: kind, allowSoftware: true });
  try {
    return await trainOn(device, found, request, report);
  } finally {
    // The next training may use another API.
    await shutdown('gpu');
  }
}

async function trainOn(
  device: Device,
  { train: set, test }: Digits,
  { model: name, captured, steps }: TrainRequest,
  report: (progress: TrainingProgress) => void,
): Promise<Trained> {
  seed(1);
  const model = deviceGuard(device, () => models[name === 'mlp' ? 'mlp' : 'conv'].make());
  const optimizer = new optim.SGD(model.parameters(), { lr, momentum: 0.9 });
  const step = (x: Tensor, y: Tensor): Tensor => {
    optimizer.zeroGrad();
    const loss = crossEntropy(model.forward(x), y);
    loss.backward();
    optimizer.step();
    return loss;
  };
  const run = captured ? toStatic(step) : (x: Tensor, y: Tensor) => tidy(() => step(x, y));
  memory.reset(device);
  const times: number[] = [];
  let done = 0;
  while (done < steps) {
    const loader = new data.DataLoader(set, { batchSize, shuffle: true });
    for await (const batch of loader) {
      const [x, y] = [batch.images.to(device), batch.labels.to(device)];
      if (done < steps) {
        const from = performance.now();
        const loss = run(x, y);
        const value = (await loss.item()) as number;
        times.push(performance.now() - from);
        loss.dispose();
        const { allocated } = memory.stats(device);
        report({ step: ++done, loss: value, stepTime: times.at(-1)!, allocated });
      }
      for (const tensor of [x, y]) tensor.dispose();
      batch[Symbol.dispose]();
      if (done === steps) break;
    }
  }
  const stats = captured ? (run as StaticFunction<typeof step>).stats() : undefined;
  const { peakAllocated } = memory.stats(device);
  const accuracy = await accuracyOf(device, (x) => model.forward(x), test);
  for (const parameter of model.parameters()) parameter.dispose();
  optimizer.dispose();
  return {
    accuracy,
    peak: peakAllocated,
    graphs: stats?.graphs ?? 0,
    breaks: stats?.breaks.length ?? 0,
    stepTime: times.sort((a, b) => a - b)[times.length >> 1]!,
  };
}

async function accuracyOf(
  device: Device,
  forward: (x: Tensor) => Tensor,
  test: Digits['test'],
): Promise<number> {
  let right = 0;
  for await (const batch of new data.DataLoader(test, { batchSize: 500 })) {
    const [x, y] = [batch.images.to(device), batch.labels.to(device)];
    const hits = tidy(() => noGrad(() => forward(x).argmax(1).eq(y).to('float32').sum()));
    right += (await hits.item()) as number;
    for (const tensor of [hits, x, y]) tensor.dispose();
    batch[Symbol.dispose]();
  }
  return right / test.length;
}
