import { loadMnist } from '../../runtime/data/mnist.ts';
import {
  crossEntropy,
  data,
  init,
  memory,
  type nn,
  noGrad,
  optim,
  seed,
  setDevice,
  type Tensor,
  tidy,
} from '../../src/index.ts';
import type { Timeline } from '../../src/lab/timeline.ts';
import { Account } from './account.ts';
import { type ModelName, models } from './models.ts';
import { type Promised, type StrategyName, strategies } from './strategies.ts';

export interface TrainingOptions {
  readonly model: ModelName;
  readonly strategy: StrategyName;
  readonly epochs: number;
  readonly batch: number;
  /** The number of training images, and the most test images. */
  readonly limit: number;
  readonly device: string;
  /** The folder of the idx files; undefined for those of the npm package. */
  readonly directory: string | undefined;
}

/** Plain data, sent between processes. */
export interface TrainingResult {
  /** The loss of every step. */
  readonly losses: readonly number[];
  /** The share of test images recognized. */
  readonly accuracy: number;
  /** Bytes, over all steps. */
  readonly peakAllocated: number;
  readonly peakReserved: number;
  /** Calls in one step, its batch included. */
  readonly allocations: number;
  readonly frees: number;
  /** The timeline of one step. */
  readonly timeline: Timeline;
  readonly promised: Promised | null;
  /** Median over the steps: forward, backward and update, in milliseconds. */
  readonly stepTime: number;
  /** Problems found, as sentences. */
  readonly problems: readonly string[];
}

/** Called after every step; steps are numbered from 1. */
export type OnStep = (step: number, loss: number) => void;

/** The last step whose memory is recorded: late enough that everything is compiled and warm. */
const lastRecorded = 50;

/** The number of steps of a training with these options. */
export function stepsOf({ limit, batch, epochs }: TrainingOptions): number {
  return Math.ceil(limit / batch) * epochs;
}

/** Trains once from the seed on, with an exact account of its memory. */
export async function train(options: TrainingOptions, onStep: OnStep): Promise<TrainingResult> {
  const { limit, batch: batchSize, epochs } = options;
  const images = loadMnist(options.directory);
  const device = await init(options.device);
  setDevice(device);
  const atFirst = memory.stats(device).allocated;

  seed(1);
  const { make, lr, momentum } = models[options.model];
  const model = make();
  const optimizer = new optim.SGD(model.parameters(), { lr, momentum });
  const strategy = strategies[options.strategy].prepare((x, y) =>
    crossEntropy(model.forward(x), y),
  );

  function takeStep(batch: data.ImageBatch): Tensor {
    memory.mark('forward');
    const loss = strategy.run(batch.images, batch.labels);
    memory.mark('backward');
    loss.backward();
    memory.mark('update');
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  }

  const fullBatches = Math.max(1, Math.floor(limit / batchSize));
  const account = new Account(device, Math.min(lastRecorded, fullBatches));
  const loader = new data.DataLoader(firstOf(images.train, limit), { batchSize, shuffle: true });
  const losses: number[] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    for (const batch of loader) {
      if (losses.length === 0) await strategy.warmUp(batch.images, batch.labels);
      const loss = account.measure(() => takeStep(batch));
      losses.push(await loss.item());
      loss.dispose();
      batch[Symbol.dispose]();
      account.endStep();
      onStep(losses.length, losses.at(-1)!);
    }
  }
  const { peakAllocated, peakReserved } = memory.stats(device);

  const accuracy = await test(model, firstOf(images.test, limit), batchSize);
  const promised = strategy.promised();
  const problems = [...account.problems, ...strategy.shortcomings()];
  optimizer.dispose();
  model.dispose();
  const left = memory.stats(device).allocated - atFirst;
  if (left !== 0) problems.push(`${left} bytes are left after model and optimizer were disposed`);

  const { recorded, stepTime } = account;
  return {
    losses,
    accuracy,
    peakAllocated,
    peakReserved,
    ...recorded,
    promised,
    stepTime,
    problems,
  };
}

function firstOf(set: data.ImageDataset, count: number): data.ImageDataset {
  const { height, width } = set.options;
  const images = set.images.subarray(0, count * height * width);
  return new data.ImageDataset(images, set.labels.subarray(0, count), set.options);
}

/** The share of images whose label has the highest score. */
async function test(
  model: nn.Module & { forward(images: Tensor): Tensor },
  set: data.ImageDataset,
  batchSize: number,
): Promise<number> {
  let right = 0;
  for (const batch of new data.DataLoader(set, { batchSize })) {
    const guesses = noGrad(() => tidy(() => model.forward(batch.images).argmax(1)));
    const guessed = await guesses.data();
    const labels = await batch.labels.data();
    for (let i = 0; i < labels.length; i++) if (guessed[i] === labels[i]) right++;
    guesses.dispose();
    batch[Symbol.dispose]();
  }
  return right / set.length;
}
