import { expectOptions, type OptionKinds } from '../../options/expect-options.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { type LossOptions, reduced } from '../reduce/reduction-options.ts';

/**
 * Reduces the elementwise losses that `losses` computes. Throws ArgumentError for operands that are not tensors
 * and for invalid options.
 */
export function lossOf<const T extends readonly Tensor[], O extends LossOptions>(
  name: string,
  kinds: OptionKinds<O>,
  operands: T,
  options: O,
  losses: (...operands: T) => Tensor,
): Tensor {
  expectTensors(name, ...operands);
  expectOptions(name, options, kinds);
  const loss = (...own: T): Tensor => tidy(() => reduced(name, losses(...own), options));
  return anyHalf(...operands) ? roundedOnce(operands, loss) : loss(...operands);
}
