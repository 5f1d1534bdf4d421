import {
  crossEntropy,
  data,
  deviceGuard,
  init,
  memory,
  noGrad,
  optim,
  type StaticFunction,
  seed,
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

/** Trains one of the models of the main example, a report per step; gives up the thread between steps. */
export async function train(
  { model: name, device: kind, captured, steps, images: address }: TrainRequest,
  report: (progress: TrainingProgress) => void,
): Promise<Trained> {
  digits ??= fetchDigits(address);
  const { train: set, test } = await digits;
  const device = await init(kind, { allowSoftware: true });
  return deviceGuard(device, async () => {
    seed(1);
    const model = models[name === 'mlp' ? 'mlp' : 'conv'].make();
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
        if (done === steps) {
          batch[Symbol.dispose]();
          break;
        }
        const from = performance.now();
        const loss = run(batch.images, batch.labels);
        const value = (await loss.item()) as number;
        times.push(performance.now() - from);
        loss.dispose();
        batch[Symbol.dispose]();
        const { allocated } = memory.stats(device);
        report({ step: ++done, loss: value, stepTime: times.at(-1)!, allocated });
      }
    }
    const stats = captured ? (run as StaticFunction<typeof step>).stats() : undefined;
    const { peakAllocated } = memory.stats(device);
    const accuracy = await accuracyOf((x) => model.forward(x), test);
    for (const parameter of model.parameters()) parameter.dispose();
    return {
      accuracy,
      peak: peakAllocated,
      graphs: stats?.graphs ?? 0,
      breaks: stats?.breaks.length ?? 0,
      stepTime: times.sort((a, b) => a - b)[times.length >> 1]!,
    };
  });
}

async function accuracyOf(forward: (x: Tensor) => Tensor, test: Digits['test']): Promise<number> {
  let right = 0;
  for await (const { images, labels } of new data.DataLoader(test, { batchSize: 500 })) {
    const hits = tidy(() => noGrad(() => forward(images).argmax(1).eq(labels).to('float32').sum()));
    right += (await hits.item()) as number;
    for (const tensor of [hits, images, labels]) tensor.dispose();
  }
  return right / test.length;
}
