/** Distributions with what PyTorch computed for them in float64: values, and gradients of the parameters. */

import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import * as distributions from '../../runtime/distributions/index.ts';
import { type Tensor, tensor } from '../../src/index.ts';

export interface RecordedTensor {
  readonly tensor: readonly (number | string)[];
  readonly shape: readonly number[];
  readonly int?: true;
  readonly grad?: true;
}

interface Construction {
  readonly new: string;
  readonly args: readonly unknown[];
}

const results = [
  'logProb',
  'mean',
  'mode',
  'variance',
  'stddev',
  'entropy',
  'cdf',
  'icdf',
] as const;
type Result = (typeof results)[number] | 'kl';

export type RecordedDistribution = {
  readonly p: Construction;
  readonly q?: Construction;
  /** Whether the values are those of float64 alone. */
  readonly double?: true;
  readonly batchShape: readonly number[];
  readonly eventShape: readonly number[];
  readonly value: RecordedTensor;
  readonly probability?: RecordedTensor;
  readonly support?: RecordedTensor;
} & { readonly [Name in Result]?: RecordedTensor } & {
  readonly [Name in `${Result}Grads`]?: readonly (RecordedTensor | null)[];
};

const file = new URL('data/pytorch-distributions.jsonl.gz', import.meta.url);

export const recordedDistributions: readonly RecordedDistribution[] = gunzipSync(readFileSync(file))
  .toString()
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as RecordedDistribution);

export type Precision = 'float32' | 'float64';

const classes: Readonly<Record<string, unknown>> = { ...distributions };

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isRecorded = (value: unknown): value is RecordedTensor =>
  isObject(value) && 'tensor' in value;
const isConstruction = (value: unknown): value is Construction => isObject(value) && 'new' in value;

export const made = (own: RecordedTensor, precision: Precision): Tensor =>
  tensor(own.tensor.map(Number), {
    shape: [...own.shape],
    dtype: own.int ? 'int32' : precision,
    requiresGrad: own.grad ?? false,
  });

/** Returns the tensors in the arguments, in order. */
export function operandsOf(value: unknown): RecordedTensor[] {
  if (isRecorded(value)) return [value];
  if (Array.isArray(value)) return value.flatMap(operandsOf);
  return isObject(value) ? Object.values(value).flatMap(operandsOf) : [];
}

/** Constructs the distribution with the next of these tensors in the place of each recorded one. */
export function constructed(value: unknown, next: () => Tensor): unknown {
  if (isRecorded(value)) return next();
  if (Array.isArray(value)) return value.map((own) => constructed(own, next));
  if (isConstruction(value)) {
    const Type = classes[value.new] as new (...args: unknown[]) => unknown;
    return new Type(...value.args.map((own) => constructed(own, next)));
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, own]) => [name, constructed(own, next)]),
  );
}

/** Returns what is recorded, computed by the distribution `p` and, for the divergence, `q`. */
export function computed(
  name: Result,
  p: distributions.Distribution,
  q: distributions.Distribution | null,
  value: Tensor,
  probability: Tensor | null,
): Tensor {
  switch (name) {
    case 'kl':
      return distributions.klDivergence(p, q!);
    case 'logProb':
      return p.logProb(value);
    case 'cdf':
      return p.cdf(value);
    case 'icdf':
      return p.icdf(probability!);
    case 'entropy':
      return p.entropy();
    default:
      return p[name];
  }
}

/** The results that are recorded. */
export const resultsOf = (record: RecordedDistribution): Result[] =>
  [...results, 'kl' as const].filter((name) => record[name] !== undefined);
