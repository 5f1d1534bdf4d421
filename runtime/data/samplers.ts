/** Samplers select samples and their order. */

import { ArgumentError } from '../errors/errors.ts';
import {
  expectArguments,
  expectNoMore,
  expectOptions,
  type OptionKinds,
} from '../options/expect-options.ts';
import { anyInteger, count, flag, iterable, withLength } from '../options/option-kinds.ts';
import { randomBlock, toUniform } from '../random/philox.ts';
import { nextOffset } from '../random/seed.ts';
import { shuffledOrder } from './shuffle.ts';

/** Sample indices, iterated once per loop. */
export interface Sampler extends Iterable<number> {
  readonly length: number;
}

/** Sequential order. */
export class SequentialSampler implements Sampler {
  readonly length: number;

  constructor(dataset: { readonly length: number }, ...surplus: []) {
    expectNoMore(new.target.name, surplus);
    expectArguments('SequentialSampler', { dataset }, { dataset: withLength });
    this.length = dataset.length;
  }

  *[Symbol.iterator](): Generator<number, void, undefined> {
    for (let i = 0; i < this.length; i++) yield i;
  }
}

export interface RandomSamplerOptions {
  /** Samples may be drawn more than once. */
  readonly replacement?: boolean;
  /** The number of samples drawn; by default the size of the data set. */
  readonly numSamples?: number;
  /** Seed of the order; by default the library's seed. */
  readonly seed?: number;
}

const randomKinds: OptionKinds<RandomSamplerOptions> = {
  replacement: flag,
  numSamples: count(0),
  seed: anyInteger,
};

/** Positions in the random stream: from a fixed seed and the loop number, or from the library's stream. */
class Draws {
  readonly #seed: number | undefined;
  #loops = 0;

  constructor(seed: number | undefined) {
    this.#seed = seed;
  }

  next(count: number): { readonly seed: number; readonly offset: number } {
    if (this.#seed === undefined) return nextOffset([count]);
    return { seed: this.#seed, offset: this.#loops++ * count };
  }
}

/** Random order, different in each loop. */
export class RandomSampler implements Sampler {
  readonly length: number;
  readonly #samples: number;
  readonly #replacement: boolean;
  readonly #draws: Draws;

  constructor(
    dataset: { readonly length: number },
    options: RandomSamplerOptions = {},
    ...surplus: []
  ) {
    expectNoMore(new.target.name, surplus);
    expectArguments('RandomSampler', { dataset }, { dataset: withLength });
    expectOptions('RandomSampler', options, randomKinds);
    this.#samples = dataset.length;
    this.#replacement = options.replacement ?? false;
    this.length = options.numSamples ?? dataset.length;
    this.#draws = new Draws(options.seed);
    if (this.#replacement || this.length <= this.#samples) return;
    throw new ArgumentError({
      what: 'RandomSampler: more samples than there are',
      given: `numSamples = ${this.length} of ${this.#samples}`,
      expected: 'at most as many, without replacement',
      remedy: 'pass { replacement: true } to draw a sample more than once',
    });
  }

  *[Symbol.iterator](): Generator<number, void, undefined> {
    const count = this.#replacement ? this.length : this.#samples;
    const { seed, offset } = this.#draws.next(count);
    if (this.#replacement) {
      for (const part of uniforms(seed, offset, count)) yield Math.floor(part * this.#samples);
    } else {
      yield* shuffledOrder(count, seed, offset).subarray(0, this.length);
    }
  }
}

/** The given samples in random order. */
export class SubsetRandomSampler implements Sampler {
  readonly indices: readonly number[];
  readonly #draws: Draws;

  constructor(indices: Iterable<number>, options: { readonly seed?: number } = {}, ...surplus: []) {
    expectNoMore(new.target.name, surplus);
    expectArguments('SubsetRandomSampler', { indices }, { indices: iterable });
    expectOptions('SubsetRandomSampler', options, { seed: anyInteger });
    this.indices = [...indices];
    this.#draws = new Draws(options.seed);
  }

  get length(): number {
    return this.indices.length;
  }

  *[Symbol.iterator](): Generator<number, void, undefined> {
    const { seed, offset } = this.#draws.next(this.length);
    for (const at of shuffledOrder(this.length, seed, offset)) yield this.indices[at]!;
  }
}

/** Samples drawn by weight, which need not sum to 1; with replacement by default. */
export class WeightedRandomSampler implements Sampler {
  readonly length: number;
  readonly #weights: readonly number[];
  readonly #replacement: boolean;
  readonly #draws: Draws;

  constructor(
    weights: Iterable<number>,
    numSamples: number,
    options: { readonly replacement?: boolean; readonly seed?: number } = {},
    ...surplus: []
  ) {
    expectNoMore(new.target.name, surplus);
    expectArguments(
      'WeightedRandomSampler',
      { weights, numSamples },
      { weights: iterable, numSamples: count(0) },
    );
    expectOptions('WeightedRandomSampler', options, { replacement: flag, seed: anyInteger });
    this.#weights = [...weights];
    this.length = numSamples;
    this.#replacement = options.replacement ?? true;
    this.#draws = new Draws(options.seed);
    const possible = this.#weights.filter((weight) => weight > 0).length;
    const refused = this.#weights.some((weight) => !(weight >= 0));
    if (!refused && possible > 0 && (this.#replacement || numSamples <= possible)) return;
    throw new ArgumentError({
      what: 'WeightedRandomSampler: nothing to draw from',
      given: `${numSamples} samples by ${this.#weights.length} weights, ${possible} above 0`,
      expected: 'weights of 0 or more, and enough above 0',
      remedy: 'draw fewer samples, or draw with replacement',
    });
  }

  *[Symbol.iterator](): Generator<number, void, undefined> {
    const { seed, offset } = this.#draws.next(this.length);
    const weights = Float64Array.from(this.#weights);
    let sums = running(weights);
    for (const part of uniforms(seed, offset, this.length)) {
      const index = firstAbove(sums, part * sums.at(-1)!);
      yield index;
      if (this.#replacement) continue;
      weights[index] = 0;
      sums = running(weights);
    }
  }
}

function running(weights: Float64Array): Float64Array {
  let total = 0;
  return weights.map((weight) => (total += weight));
}

/** Returns the first index with a sum above `value`, by bisection. */
function firstAbove(sums: Float64Array, value: number): number {
  let [low, high] = [0, sums.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sums[middle]! > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

function* uniforms(seed: number, offset: number, count: number): Generator<number> {
  const block = new Int32Array(4);
  let current = -1;
  for (let at = offset; at < offset + count; at++) {
    const index = Math.floor(at / 4);
    if (index !== current) randomBlock(seed, index, block);
    current = index;
    yield toUniform(block[at % 4]!);
  }
}

/** Sample indices in groups. */
export class BatchSampler implements Iterable<Int32Array> {
  readonly sampler: Sampler;
  readonly batchSize: number;
  readonly dropLast: boolean;

  constructor(sampler: Sampler, batchSize: number, dropLast = false, ...surplus: []) {
    expectNoMore(new.target.name, surplus);
    expectArguments(
      'BatchSampler',
      { sampler, batchSize, dropLast },
      { sampler: iterable, batchSize: count(1), dropLast: flag },
    );
    this.sampler = sampler;
    this.batchSize = batchSize;
    this.dropLast = dropLast;
  }

  get length(): number {
    const batches = this.sampler.length / this.batchSize;
    return this.dropLast ? Math.floor(batches) : Math.ceil(batches);
  }

  *[Symbol.iterator](): Generator<Int32Array, void, undefined> {
    let batch: number[] = [];
    for (const index of this.sampler) {
      batch.push(index);
      if (batch.length < this.batchSize) continue;
      yield Int32Array.from(batch);
      batch = [];
    }
    if (batch.length > 0 && !this.dropLast) yield Int32Array.from(batch);
  }
}
