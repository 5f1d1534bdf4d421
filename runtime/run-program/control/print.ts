import { noGrad } from '../../autograd/grad-mode.ts';
import { bind1 } from '../../ops/bind.ts';
import { copy } from '../../ops/copy.ts';
import type { Step } from '../../program/plan.ts';
import type { ValueTable } from '../../program/program.ts';
import { Tensor } from '../../tensor/tensor.ts';
import type { Action } from '../action.ts';
import type { Slot } from '../scope.ts';
import { type Line, writeLine } from './lines.ts';

type Method = 'log' | 'info' | 'warn' | 'error' | 'debug';

/** An argument of the console: a constant, a tensor of the program, or the number in one. */
export type PrintPart =
  | { readonly constant: string | number | boolean | null }
  | { readonly value: number }
  | { readonly number: number }
  | { readonly boolean: number };

export function compilePrint({ op }: Step, values: ValueTable): Action {
  const method = op.attrs.method as Method;
  const parts = JSON.parse(op.attrs.parts as string) as PrintPart[];
  const read = (slots: readonly Slot[], index: number) => {
    const id = op.inputs[index]!;
    const meta = values[id]!;
    return meta.device.downloadSync(meta, slots[id]!)[0];
  };
  const lineOf = (slots: readonly Slot[], isLate: boolean): Line => {
    const shown: Tensor[] = [];
    const args = parts.map((part) => {
      if ('constant' in part) return part.constant;
      if ('number' in part) return Number(read(slots, part.number));
      if ('boolean' in part) return Boolean(read(slots, part.boolean));
      const id = op.inputs[part.value]!;
      const { holder, offset } = slots[id]!;
      const { dtype, shape, strides, device } = values[id]!;
      const tensor = new Tensor({ dtype, shape, strides, offset, device }, holder!.retain());
      shown.push(tensor);
      if (!isLate) return tensor;
      // Until the line is written somebody may write to the tensor.
      const copied = noGrad(() => bind1(copy, [tensor]));
      shown.push(copied);
      return copied;
    });
    return {
      write: () => console[method](...args),
      release: () => {
        for (const tensor of shown) tensor.dispose();
      },
    };
  };
  return (slots) => writeLine((isLate) => lineOf(slots, isLate));
}
