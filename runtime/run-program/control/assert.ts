import { ArgumentError } from '../../errors/errors.ts';
import type { Step } from '../../program/plan.ts';
import type { ValueTable } from '../../program/program.ts';
import type { Action } from '../scope/action.ts';

/** A check in user code failed. The caller runs the user code instead, which throws. */
export class FailedCheck extends ArgumentError {}

export function compileAssert({ op }: Step, values: ValueTable): Action {
  const [test] = op.inputs;
  const meta = values[test!]!;
  const { at } = op;
  // The meta device computes nothing, so the check is assumed to hold.
  if (meta.device.kind === 'meta') return () => {};
  return (slots) => {
    if (meta.device.downloadSync(meta, slots[test!]!, 'itemSync')[0]) return;
    throw new FailedCheck({
      what: 'a check inside a program has failed',
      given: 'a condition that is false',
      expected: 'values for which the function does not throw',
      remedy: 'see the throw statement there',
      at,
    });
  };
}
