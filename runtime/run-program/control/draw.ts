import { Holder } from '../../device/holder.ts';
import { drawnBy } from '../../program/control-ops.ts';
import type { Step } from '../../program/plan.ts';
import type { ValueTable } from '../../program/program.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { Action } from '../scope/action.ts';
import type { Slot } from '../scope/scope.ts';
import { readNumber } from './read-number.ts';

/** Reads the seed and the stream position, which waits for the device, and draws from there. */
export function compileDraw({ op }: Step, values: ValueTable): Action {
  const [result] = op.outputs;
  const meta = values[result!]!;
  const { device, dtype, shape } = meta;
  const bytes = sizeOf(shape) * device.elementBytes(dtype);
  const first = op.attrs.offset as number;
  const attrs = { ...op.attrs, seed: 0, offset: first };
  const launch = device.prepare(drawnBy(op.op), [], [meta], attrs);
  const numberAt = (slots: readonly Slot[], id: number): number => {
    const from = values[id]!;
    return readNumber(from, slots[id]!);
  };
  const [seed, ...places] = op.inputs;
  return (slots) => {
    if (device.kind !== 'meta') {
      attrs.seed = numberAt(slots, seed!);
      attrs.offset = first;
      for (const place of places) attrs.offset += numberAt(slots, place);
    }
    const slot = slots[result!]!;
    slot.put(new Holder(device, bytes), 0);
    launch([], [slot], attrs);
  };
}
