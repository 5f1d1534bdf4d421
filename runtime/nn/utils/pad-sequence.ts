import { ArgumentError } from '../../errors/errors.ts';
import { pad } from '../../ops/arranging/padding.ts';
import { stack } from '../../ops/movement/joining.ts';
import { expectTensorList } from '../../ops/record/expect-tensors.ts';
import { expectOptions, type OptionKinds } from '../../options/expect-options.ts';
import { anyNumber, flag } from '../../options/option-kinds.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';

export interface PadSequenceOptions {
  /** [batch, length, …] instead of [length, batch, …]; false by default. */
  readonly batchFirst?: boolean;
  /** The value of elements past the end of a shorter sequence; 0 by default. */
  readonly paddingValue?: number;
}

const padKinds: OptionKinds<PadSequenceOptions> = { batchFirst: flag, paddingValue: anyNumber };

/**
 * Pads sequences [length, …] into one tensor [longest, batch, …], which recurrent modules accept together with
 * `lengths`. Throws ArgumentError for an empty list.
 */
export function padSequence(
  sequences: readonly Tensor[],
  options: PadSequenceOptions = {},
): Tensor {
  expectOptions('padSequence', options, padKinds);
  const { batchFirst = false, paddingValue = 0 } = options;
  expectTensorList('padSequence', sequences);
  if (sequences.length === 0) {
    throw new ArgumentError({
      what: 'padSequence: no sequences',
      given: 'an empty array',
      expected: 'at least one tensor [length, …]',
      remedy: 'skip batches without samples',
    });
  }
  const longest = Math.max(...sequences.map(({ shape }) => shape[0]!));
  return tidy(() => {
    const padded = sequences.map((sequence) => {
      // Amounts start from the last dimension.
      const others = sequence.shape.slice(1).flatMap(() => [0, 0]);
      const amounts = [...others, 0, longest - sequence.shape[0]!];
      return pad(sequence, amounts, 'constant', paddingValue);
    });
    return stack(padded, batchFirst ? 0 : 1);
  });
}
