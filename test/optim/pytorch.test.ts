import { describe, it } from 'vitest';
import * as optim from '../../runtime/optim/index.ts';
import { optimizerRecords } from '../nn/recorded-nn.ts';
import type { Tensor } from '../ops/eager.ts';
import { replay } from './recorded-steps.ts';

type MakeOptimizer = (parameters: Tensor[], options: never) => optim.Optimizer;
type MakeSchedule = (
  optimizer: optim.Optimizer,
  ...numbers: never
) => Pick<optim.LRScheduler, 'step'>;

const optimizers: Readonly<Record<string, MakeOptimizer>> = {
  SGD: (parameters, options) => new optim.SGD(parameters, options),
  Adam: (parameters, options) => new optim.Adam(parameters, options),
  AdamW: (parameters, options) => new optim.AdamW(parameters, options),
  RMSprop: (parameters, options) => new optim.RMSprop(parameters, options),
};

const schedules: Readonly<Record<string, MakeSchedule>> = {
  StepLR: (optimizer, size: number, gamma: number) => new optim.StepLR(optimizer, size, gamma),
  ExponentialLR: (optimizer, gamma: number) => new optim.ExponentialLR(optimizer, gamma),
  LinearLR: (optimizer, startFactor: number, endFactor: number, totalIters: number) =>
    new optim.LinearLR(optimizer, { startFactor, endFactor, totalIters }),
  CosineAnnealingWarmRestarts: (optimizer, t0: number, tMult: number) =>
    new optim.CosineAnnealingWarmRestarts(optimizer, t0, tMult),
};

function found<T>(table: Readonly<Record<string, T>>, name: string): T {
  const entry = table[name];
  if (entry === undefined) throw new Error(`the adapter doesn't know ${name}`);
  return entry;
}

interface Named {
  readonly optimizer: string;
  readonly options: Record<string, unknown>;
  readonly schedule?: { readonly name: string; readonly numbers: readonly number[] };
}

/** `Adam {"lr": 0.01}`, or `SGD lr=0.1 + StepLR(3,0.5)`. */
function parseName(name: string): Named {
  const plain = /^(\w+) (\{.*\})$/.exec(name);
  if (plain) return { optimizer: plain[1]!, options: camelCased(plain[2]!) };
  const scheduled = /^(\w+) lr=([\d.]+) \+ (\w+)\(([\d.,]+)\)$/.exec(name);
  if (!scheduled) throw new Error(`the adapter can't read ${name}`);
  const [, optimizer, lr, schedule, numbers] = scheduled;
  return {
    optimizer: optimizer!,
    options: { lr: Number(lr) },
    schedule: { name: schedule!, numbers: numbers!.split(',').map(Number) },
  };
}

function camelCased(json: string): Record<string, unknown> {
  return JSON.parse(json.replace(/_(\w)/g, (_match, first: string) => first.toUpperCase()));
}

describe("optimizers and schedules follow PyTorch's recorded steps", () => {
  for (const record of optimizerRecords) {
    it(record.name, () => {
      const { optimizer, options, schedule } = parseName(record.name);
      let scheduler: { step(): void } | undefined;
      replay(
        record,
        (parameters) => {
          const made = found(optimizers, optimizer)(parameters, options as never);
          if (schedule) {
            scheduler = found(schedules, schedule.name)(made, ...(schedule.numbers as never));
          }
          return made;
        },
        () => scheduler?.step(),
      );
    });
  }
});
