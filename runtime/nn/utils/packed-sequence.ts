/** Sequences of several lengths without padding, by PyTorch's `nn.utils.rnn`. */

import { deviceGuard } from '../../device/current.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import type { Lengths } from '../../functional/ctc-loss.ts';
import { tensor } from '../../ops/core/create.ts';
import { indexCopy, indexSelect } from '../../ops/indexing/indexing.ts';
import { narrow, reshape, select, transpose } from '../../ops/movement/movement.ts';
import { fullLike } from '../../ops/movement/ranges.ts';
import { expectTensors } from '../../ops/record/expect-tensors.ts';
import {
  expectArguments,
  expectOptions,
  type OptionKinds,
  shown,
} from '../../options/expect-options.ts';
import { isTensor } from '../../options/is-tensor.ts';
import { anyNumber, arrayOf, count, flag, orNull } from '../../options/option-kinds.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { type PadSequenceOptions, padSequence } from './pad-sequence.ts';

const sequenceKinds = { batchSizes: arrayOf(count(1)), sortedIndices: orNull(arrayOf(count(0))) };

/**
 * A batch of sequences, the longest first, as `forwardPacked` of recurrent modules takes and returns it: a plain object,
 * so that `tidy` and captured functions keep its tensor. `packedSequence` makes one. Hooks of a module run in `forward`
 * alone.
 */
export interface PackedSequence {
  /** [elements, …]: the first element of each sequence, then the second of each that has one, and so on. */
  readonly data: Tensor;
  /** The number of sequences that have a first element, a second, and so on. */
  readonly batchSizes: readonly number[];
  /** The place in the batch of each packed sequence; null if the batch was sorted. */
  readonly sortedIndices: readonly number[] | null;
  /** The place among the packed sequences of each one of the batch; null if the batch was sorted. */
  readonly unsortedIndices: readonly number[] | null;
}

/**
 * Returns elements as packed sequences, for example those that a layer has computed of others:
 * `packedSequence(layer.forward(packed.data), packed.batchSizes, packed.sortedIndices)`.
 */
export function packedSequence(
  data: Tensor,
  batchSizes: readonly number[],
  sortedIndices: readonly number[] | null = null,
): PackedSequence {
  expectTensors('packedSequence', data);
  expectArguments('packedSequence', { batchSizes, sortedIndices }, sequenceKinds);
  const elements = batchSizes.reduce((sum, size) => sum + size, 0);
  const falls = batchSizes.every((size, i) => i === 0 || size <= batchSizes[i - 1]!);
  const fits = sortedIndices === null || isOrder(sortedIndices, batchSizes[0]!);
  if (elements === 0 || data.shape[0] !== elements || !falls || !fits) {
    throw new ArgumentError({
      what: 'packedSequence: not packed sequences',
      given: `${formatSpec(data)} for batches of ${batchSizes.join(', ')}`,
      expected:
        'as many elements as the batches have, no batch larger than the one before, and each place once in sortedIndices',
      remedy: 'pack padded sequences: nn.utils.packPaddedSequence(x, lengths)',
    });
  }
  const unsortedIndices = sortedIndices && inverted(sortedIndices);
  return { data, batchSizes: [...batchSizes], sortedIndices, unsortedIndices };
}

/** Whether the indices are the places of a batch in some order. */
const isOrder = (indices: readonly number[], batch: number): boolean =>
  indices.length === batch && new Set(indices).size === batch && Math.max(...indices) < batch;

/** Returns the length of each sequence of the batch. */
function lengthsOf({ batchSizes, unsortedIndices }: PackedSequence): readonly number[] {
  const sorted = Array.from(
    { length: batchSizes[0]! },
    (_, row) => batchSizes.filter((size) => size > row).length,
  );
  return unsortedIndices?.map((row) => sorted[row]!) ?? sorted;
}

function inverted(order: readonly number[]): number[] {
  const places = order.map(() => 0);
  for (const [i, place] of order.entries()) places[place] = i;
  return places;
}

/** Returns indices as a tensor on the device of the tensor that they select from. */
export const indicesOn = (x: Tensor, indices: readonly number[]): Tensor =>
  deviceGuard(x.device, () => tensor(Int32Array.from(indices)));

export interface PackOptions {
  /** Whether the input is [batch, length, …] instead of [length, batch, …]; false by default. */
  readonly batchFirst?: boolean;
  /** Whether lengths that don't fall throw ArgumentError; true by default. Otherwise sequences are sorted. */
  readonly enforceSorted?: boolean;
}

const packKinds: OptionKinds<PackOptions> = { batchFirst: flag, enforceSorted: flag };
const lengthKinds = { lengths: arrayOf(count(1)) };

/** Returns the lengths as numbers; those of a tensor are read. */
function numbersOf(owner: string, values: Lengths): readonly number[] {
  const lengths = isTensor(values) ? Array.from((values as Tensor).dataSync(), Number) : values;
  expectArguments(owner, { lengths }, lengthKinds);
  return lengths as readonly number[];
}

/** Returns the places of elements in flattened steps [length · batch], in the order in which they are packed. */
function packedPlaces(order: readonly number[], batchSizes: readonly number[]): number[] {
  const batch = order.length;
  return batchSizes.flatMap((size, step) => order.slice(0, size).map((row) => step * batch + row));
}

/** Returns padded sequences [length, batch, …] as [length · batch, …]. */
const flattened = (x: Tensor): Tensor =>
  reshape(x, [x.shape[0]! * x.shape[1]!, ...x.shape.slice(2)]);

/**
 * Packs padded sequences [length, batch, …]. A captured function is traced again for other lengths: recurrent modules
 * also take padded sequences with a tensor of `lengths`.
 */
export function packPaddedSequence(
  input: Tensor,
  lengths: Lengths,
  options: PackOptions = {},
): PackedSequence {
  expectTensors('packPaddedSequence', input);
  expectOptions('packPaddedSequence', options, packKinds);
  const { batchFirst = false, enforceSorted = true } = options;
  const sizes = numbersOf('packPaddedSequence', lengths);
  const longest = Math.max(0, ...sizes);
  const [steps = 0, batch = 0] = batchFirst ? [input.shape[1], input.shape[0]] : input.shape;
  if (input.rank < 2 || sizes.length !== batch || batch === 0 || longest > steps) {
    throw new ShapeError({
      what: "packPaddedSequence: the lengths don't fit the sequences",
      given: `${formatSpec(input)} with lengths ${sizes.join(', ')}`,
      expected: `${batchFirst ? '[batch, length, …]' : '[length, batch, …]'}, and one length per sequence`,
      remedy: 'set batchFirst if the batch is the first dimension',
    });
  }
  const isSorted = sizes.every((size, i) => i === 0 || size <= sizes[i - 1]!);
  if (enforceSorted && !isSorted) {
    throw new ArgumentError({
      what: 'packPaddedSequence: the sequences are not sorted',
      given: `lengths ${sizes.join(', ')}`,
      expected: 'the longest sequence first',
      remedy: 'pass { enforceSorted: false }',
    });
  }
  const order = sizes.map((_, i) => i).sort((a, b) => sizes[b]! - sizes[a]! || a - b);
  const batchSizes = Array.from(
    { length: longest },
    (_, step) => sizes.filter((size) => size > step).length,
  );
  return tidy(() => {
    const flat = flattened(batchFirst ? transpose(input, 0, 1) : input);
    const data = indexSelect(flat, 0, indicesOn(flat, packedPlaces(order, batchSizes)));
    return packedSequence(data, batchSizes, enforceSorted ? null : order);
  });
}

export interface PadPackedOptions extends PadSequenceOptions {
  /** The length of the result, at least that of the longest sequence, which is the default. */
  readonly totalLength?: number | null;
}

const padPackedKinds: OptionKinds<PadPackedOptions> = {
  batchFirst: flag,
  paddingValue: anyNumber,
  totalLength: orNull(count(1)),
};

/** Returns the sequences as [length, batch, …], in their order before packing, and their lengths: int32 [batch]. */
export function padPackedSequence(
  sequence: PackedSequence,
  options: PadPackedOptions = {},
): [padded: Tensor, lengths: Tensor] {
  expectPacked('padPackedSequence', sequence);
  expectOptions('padPackedSequence', options, padPackedKinds);
  const { batchFirst = false, paddingValue = 0, totalLength = null } = options;
  const { data, batchSizes } = sequence;
  const lengths = lengthsOf(sequence);
  const batch = lengths.length;
  const steps = totalLength ?? batchSizes.length;
  if (steps < batchSizes.length) {
    throw new ArgumentError({
      what: 'padPackedSequence: a sequence is longer than the result',
      given: `totalLength ${steps}, with a sequence of ${batchSizes.length} elements`,
      expected: 'the length of the longest sequence, or more',
      remedy: 'leave totalLength out for the longest',
    });
  }
  return tidy(() => {
    const shape = [steps * batch, ...data.shape.slice(1)];
    const order = sequence.sortedIndices ?? lengths.map((_, i) => i);
    const places = indicesOn(data, packedPlaces(order, batchSizes));
    const flat = indexCopy(fullLike(data, paddingValue, { shape }), 0, places, data);
    const padded = reshape(flat, [steps, batch, ...data.shape.slice(1)]);
    return [batchFirst ? transpose(padded, 0, 1) : padded, indicesOn(data, lengths)];
  });
}

/** Packs sequences [length, …]. */
export function packSequence(
  sequences: readonly Tensor[],
  options: Pick<PackOptions, 'enforceSorted'> = {},
): PackedSequence {
  expectOptions('packSequence', options, { enforceSorted: flag });
  return tidy(() => {
    const padded = padSequence(sequences);
    const lengths = sequences.map(({ shape }) => shape[0]!);
    return packPaddedSequence(padded, lengths, options);
  });
}

/** Returns each of the padded sequences [length, batch, …] without its padding. */
export function unpadSequence(
  padded: Tensor,
  lengths: Lengths,
  options: Pick<PackOptions, 'batchFirst'> = {},
): Tensor[] {
  expectTensors('unpadSequence', padded);
  expectOptions('unpadSequence', options, { batchFirst: flag });
  const dim = options.batchFirst ? 0 : 1;
  return naming('unpadSequence', () =>
    tidy(() =>
      numbersOf('unpadSequence', lengths).map((length, i) =>
        narrow(select(padded, dim, i), 0, 0, length),
      ),
    ),
  );
}

/** Returns each of the packed sequences [length, …], in their order before packing. */
export function unpackSequence(sequence: PackedSequence): Tensor[] {
  expectPacked('unpackSequence', sequence);
  return tidy(() => unpadSequence(padPackedSequence(sequence)[0], lengthsOf(sequence)));
}

/** Throws ArgumentError for anything but packed sequences. */
export function expectPacked(owner: string, value: unknown): void {
  if (isPacked(value)) return;
  throw new ArgumentError({
    what: `${owner}: not packed sequences`,
    given: shown(value),
    expected: 'what packPaddedSequence() returns',
    remedy: 'pack the sequences: nn.utils.packPaddedSequence(x, lengths)',
  });
}

/** Whether a value is what `packedSequence` returns. */
export const isPacked = (value: unknown): value is PackedSequence =>
  typeof value === 'object' &&
  value !== null &&
  'batchSizes' in value &&
  isTensor((value as PackedSequence).data);
