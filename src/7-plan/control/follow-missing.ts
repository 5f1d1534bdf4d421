import { isGradientSum, isThere } from '../../../runtime/program/missing-gradients.ts';
import type { ValueId } from '../../../runtime/program/program.ts';
import { mayPassOn } from '../../../runtime/run-program/missing.ts';
import { bytesOf } from '../storages.ts';
import type { ControlSite } from './control-site.ts';

/** A step of which operands are missing: nothing is made, but a sum is what is left of it. */
export function followMissing(
  { follower: { memory }, step, values, scope }: ControlSite,
  missing: readonly ValueId[],
): void {
  const { op, inputs, outputs } = step.op;
  const left = isGradientSum(op) ? inputs.find((id) => !missing.includes(id)) : undefined;
  if (left === undefined) return;
  const [part, result] = [scope.get(left)!, outputs[0]!];
  const passes = mayPassOn(step, left, values) && part.owners === 1;
  scope.set(result, passes ? memory.share(part) : memory.make(bytesOf(values, result)));
}

/** Ops that look at whether a gradient is there. */
export function followLook({ follower: { memory }, step, values, scope }: ControlSite): void {
  const { op, inputs, outputs } = step.op;
  const [gradient, ...others] = inputs;
  const [result] = outputs as [ValueId];
  const piece = op === isThere ? undefined : scope.get(gradient!);
  if (piece) scope.set(result, memory.share(piece));
  else if (op === isThere || others.length === 0 || others.some((id) => scope.has(id))) {
    scope.set(result, memory.make(bytesOf(values, result)));
  }
}
