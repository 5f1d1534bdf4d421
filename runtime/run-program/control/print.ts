import { noGrad } from '../../autograd/grad-mode.ts';
import { bind1 } from '../../ops/core/bind.ts';
import { copy } from '../../ops/core/copy.ts';
import { textWith } from '../../program/number-text.ts';
import type { Step } from '../../program/plan.ts';
import { type PrintPart, type ScalarPart, specialConstants } from '../../program/print-part.ts';
import type { ValueTable } from '../../program/program.ts';
import { Tensor } from '../../tensor/tensor.ts';
import type { Action } from '../scope/action.ts';
import type { Slot } from '../scope/scope.ts';
import { type Line, writeLine } from './lines.ts';
import { readNumber } from './read-number.ts';

type Method = 'log' | 'info' | 'warn' | 'error' | 'debug';

export function compilePrint({ op }: Step, values: ValueTable): Action {
  const method = op.attrs.method as Method;
  const parts = JSON.parse(op.attrs.parts as string) as PrintPart[];
  const read = (slots: readonly Slot[], index: number) => {
    const id = op.inputs[index]!;
    const meta = values[id]!;
    return readNumber(meta, slots[id]!);
  };
  const scalarOf = (slots: readonly Slot[], part: ScalarPart) =>
    'number' in part ? Number(read(slots, part.number)) : Boolean(read(slots, part.boolean));
  const lineOf = (slots: readonly Slot[], isLate: boolean): Line => {
    const shown: Tensor[] = [];
    const shownAs = (part: PrintPart): unknown => {
      if ('constant' in part) return part.constant;
      if ('special' in part) return specialConstants[part.special];
      if ('list' in part) return part.list.map(shownAs);
      if ('fields' in part) {
        return Object.fromEntries(part.fields.map(([name, field]) => [name, shownAs(field)]));
      }
      if ('number' in part || 'boolean' in part) return scalarOf(slots, part);
      if ('text' in part) return textWith(part.text, (value) => scalarOf(slots, value));
      const id = op.inputs[part.value]!;
      const { holder, offset } = slots[id]!;
      const { dtype, shape, strides, device } = values[id]!;
      const tensor = new Tensor({ dtype, shape, strides, offset, device }, holder!.retain());
      shown.push(tensor);
      if (!isLate) return tensor;
      // The tensor may be overwritten before the line is printed.
      const copied = noGrad(() => bind1(copy, [tensor]));
      shown.push(copied);
      return copied;
    };
    const args = parts.map(shownAs);
    return {
      write: () => console[method](...args),
      release: () => {
        for (const tensor of shown) tensor.dispose();
      },
    };
  };
  return (slots) => writeLine((isLate) => lineOf(slots, isLate));
}
