import { sizeOf } from '../../../spec/shape.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, output, type Slot, type Stage, scratch, singleStage } from '../core/kernel-plan.ts';
import { divisionCode } from './index-code.ts';
import type { NamedPlan } from './named-plan.ts';
import { StageWriter, thread } from './stage-writer.ts';

/** Writes the thread's index along `dim` of a contiguous tensor. */
function placeCode(w: StageWriter, { shape }: TensorMeta, dim: number): string {
  const stride = sizeOf(shape.slice(dim + 1));
  w.line(...divisionCode(thread, stride, 'row', 'column'));
  w.line(...divisionCode('row', shape[dim]!, 'outer', 'place'));
  return 'place';
}

/**
 * Partial results at doubling distances (Hillis and Steele): stage s combines each element with the one 2^s
 * positions before or after.
 */
function scanPlan(sign: '+' | '*'): NamedPlan {
  return ([x], [out], { dim, reverse }) => {
    const at = dim as number;
    const size = x!.shape[at]!;
    const stride = sizeOf(x!.shape.slice(at + 1));
    const count = Math.max(1, Math.ceil(Math.log2(size)));
    const elements = sizeOf(x!.shape);
    const stages = Array.from({ length: count }, (_, s): Stage => {
      const w = new StageWriter();
      const source: Slot = s === 0 ? input(0) : scratch((s - 1) % 2);
      const ref = w.array(source);
      const distance = 2 ** s;
      const place = placeCode(w, x!, at);
      const element = w.let(ref.at(thread));
      const other = reverse ? `${thread}+${distance * stride}` : `${thread}-${distance * stride}`;
      const inside = reverse ? `${place}+${distance}<${size}` : `${place}>=${distance}`;
      w.line(`if(${inside}){${element}=${element}${sign}${ref.at(other)};}`);
      return s === count - 1
        ? w.into(output(0), out!, element)
        : w.intoScratch(scratch(s % 2), elements, element);
    });
    const buffers = Math.min(2, count - 1);
    return { scratch: new Array<number>(buffers).fill(elements), stages };
  };
}

export const cumsum = scanPlan('+');
export const cumprod = scanPlan('*');

/** Each thread iterates over its row, computing the product before it and the sum after it. */
export const cumprodGrad: NamedPlan = ([, x], [out], { dim }) => {
  const at = dim as number;
  const stride = sizeOf(x!.shape.slice(at + 1));
  const w = new StageWriter();
  const [dy, values] = [w.array(input(0)), w.array(input(1))];
  const place = placeCode(w, x!, at);
  const first = w.let(`${thread}-${place}*${stride}`);
  const [before, running, sum] = [w.let('1.0'), w.let('1.0'), w.let('0.0')];
  w.loop(x!.shape[at]!, (k) => {
    const index = w.let(`${first}+${k}*${stride}`);
    const value = w.let(values.at(index));
    const later = `if(${k}>${place}){${running}=${running}*${value};}`;
    const term = `${sum}=${sum}+${dy.at(index)}*${running};`;
    w.line(`if(${k}<${place}){${before}=${before}*${value};}else{${later}${term}}`);
  });
  return singleStage(w.into(output(0), out!, `${before}*${sum}`));
};
