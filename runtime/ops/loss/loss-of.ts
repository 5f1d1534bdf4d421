import { formatSpec } from '../../device/tensor-meta.ts';
import { ShapeError } from '../../errors/errors.ts';
import { expectOptions, type OptionKinds } from '../../options/expect-options.ts';
import { sameShape } from '../../spec/shape.ts';
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
  const loss = (...operands: T): Tensor => tidy(() => reduced(name, losses(...operands), options));
  return anyHalf(...operands) ? roundedOnce(operands, loss) : loss(...operands);
}

/**
 * Throws ShapeError for a target of another shape: broadcasting would compare each of n scores [n, 1] with each of n
 * targets [n].
 */
export function expectTargetOf(name: string, x: Tensor, target: Tensor): void {
  if (sameShape(x.shape, target.shape)) return;
  throw new ShapeError({
    what: `${name}: the target has another shape`,
    given: `target ${formatSpec(target)} for ${formatSpec(x)}`,
    expected: 'a target of the shape of the input',
    remedy: 'target.reshapeAs(x), or squeeze or unsqueeze one of them',
  });
}
