import { Holder } from '../../device/holder.ts';
import { isNumberCall } from '../../ops/numbers/number-calls.ts';
import { scalarFunctions } from '../../ops/numbers/scalar-functions.ts';
import type { Step } from '../../program/plan.ts';
import type { ValueTable } from '../../program/program.ts';
import type { Action } from '../scope/action.ts';
import { callNumber } from './called-numbers.ts';
import { readNumber } from './read-number.ts';

/** Reads the numbers, which waits for the device, and writes the native function's result back to it. */
export function compileHostNumber({ op }: Step, values: ValueTable): Action {
  const { fn: name } = op.attrs;
  const fn = isNumberCall(name) ? () => callNumber(name) : scalarFunctions.get(name as string)!;
  const [result] = op.outputs;
  const meta = values[result!]!;
  const { device } = meta;
  const bytes = device.elementBytes(meta.dtype);
  const data = meta.dtype === 'bool' ? new Uint8Array(1) : new Float64Array(1);
  const operands = op.inputs.map((id) => ({ id, meta: values[id]! }));
  const numbers = operands.map(() => 0);
  const computes = device.kind !== 'meta';
  return (slots) => {
    for (let i = 0; computes && i < operands.length; i++) {
      const { id, meta: from } = operands[i]!;
      numbers[i] = readNumber(from, slots[id]!);
    }
    data[0] = computes || operands.length > 0 ? Number(fn(...numbers)) : 0;
    const slot = slots[result!]!;
    slot.put(new Holder(device, bytes), 0);
    device.upload(data, meta, slot);
  };
}
