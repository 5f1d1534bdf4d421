import { remainder } from '../../../ops/numbers/number-arithmetic.ts';
import { contiguousStrides } from '../../../spec/shape.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, output, type Slot, type Stage, singleStage } from '../core/kernel-plan.ts';
import { divisionCode } from './index-code.ts';
import { fill } from './movement.ts';
import type { NamedPlan } from './named-plan.ts';
import { StageWriter, thread } from './stage-writer.ts';

/** Copies an operand from its element `from` on to the output's region with these strides and offset `base`. */
function copyStage(
  slot: Slot,
  x: TensorMeta,
  out: TensorMeta,
  strides: readonly number[],
  base: number,
  from = 0,
): Stage {
  const w = new StageWriter();
  const ref = w.array(slot);
  const [index] = w.indices(x.shape, [x.strides]);
  const at = from === 0 ? index! : `${from}+${index}`;
  return w.into(output(0), { ...out, shape: x.shape, strides }, ref.at(at), base);
}

/** One stage per operand, because a kernel can't read more than 7. */
export const cat: NamedPlan = (inputs, [out], attrs) => {
  const dim = attrs.dim as number;
  const strides = contiguousStrides(out!.shape);
  let start = 0;
  const stages = inputs.map((x, i) => {
    const base = start * strides[dim]!;
    start += x.shape[dim]!;
    return copyStage(input(i), x, out!, strides, base);
  });
  return { scratch: [], stages };
};

export const flip: NamedPlan = ([x], [out], attrs) => {
  const dims = attrs.dims as readonly number[];
  let last = 0;
  const strides = x!.strides.map((stride, d) => {
    if (!dims.includes(d)) return stride;
    last += (x!.shape[d]! - 1) * stride;
    return -stride;
  });
  const w = new StageWriter();
  const ref = w.array(input(0));
  const [index] = w.indices(x!.shape, [strides]);
  return singleStage(w.into(output(0), out!, ref.at(`${last}+${index}`)));
};

/** Swaps two parts: the last entries of the dimension, and all before them. */
export const roll: NamedPlan = ([x], [out], attrs) => {
  const dim = attrs.dim as number;
  const size = x!.shape[dim]!;
  const last = size === 0 ? 0 : remainder(attrs.shift as number, size);
  const strides = contiguousStrides(out!.shape);
  const part = (length: number) => {
    return { ...x!, shape: x!.shape.map((each, d) => (d === dim ? length : each)) };
  };
  const from = (size - last) * x!.strides[dim]!;
  const stages = [copyStage(input(0), part(size - last), out!, strides, last * strides[dim]!)];
  if (last > 0) stages.push(copyStage(input(0), part(last), out!, strides, 0, from));
  return { scratch: [], stages };
};

export const place: NamedPlan = ([x], [out], attrs) => {
  const filled = fill([], [out!], attrs);
  const strides = attrs.strides as readonly number[];
  const copied = copyStage(input(0), x!, out!, strides, attrs.offset as number);
  return { scratch: [], stages: [...filled.stages, copied] };
};

export const placeInto: NamedPlan = ([x, source], [out], attrs) => {
  const strides = attrs.strides as readonly number[];
  const whole = copyStage(input(0), x!, out!, contiguousStrides(x!.shape), 0);
  const part = copyStage(input(1), source!, out!, strides, attrs.offset as number);
  return { scratch: [], stages: [whole, part] };
};

/** For every position in a window, each element of x determines the window in which it has that position. */
export const unfoldGrad: NamedPlan = ([dy], [dx], attrs) => {
  const dim = attrs.dim as number;
  const step = attrs.step as number;
  const dilation = attrs.dilation as number;
  const size = dy!.shape.at(-1)!;
  const inWindow = dy!.strides.at(-1)!;
  const w = new StageWriter();
  const ref = w.array(input(0));
  const others = dy!.strides.slice(0, -1).map((stride, d) => (d === dim ? 0 : stride));
  const alongDim = dx!.shape.map((_, d) => (d === dim ? 1 : 0));
  const [index, entry] = w.indices(dx!.shape, [others, alongDim]);
  const sum = w.let('0.0');
  w.loop(size, (k) => {
    const [window, rest] = [w.name(), w.name()];
    w.line(...divisionCode(`(${entry}-${k}*${dilation})`, step, window, rest));
    w.line(`if(${rest}===0.0&&${window}>=0.0&&${window}<${dy!.shape[dim]!}){`);
    const at = `${index}+${window}*${dy!.strides[dim]!}+${k}*${inWindow}`;
    w.line(`${sum}=${sum}+${ref.at(at)};`, '}');
  });
  return singleStage(w.into(output(0), dx!, sum));
};

export const arange: NamedPlan = (_inputs, [out]) => {
  const w = new StageWriter();
  return singleStage(w.into(output(0), out!, `${w.attr('start')}+${thread}*${w.attr('step')}`));
};
