/** Direct convolutions: one thread per element of the result, without scratch memory. */

import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, output, singleStage } from '../core/kernel-plan.ts';
import { divisionCode } from './index-code.ts';
import type { NamedPlan } from './named-plan.ts';
import { StageWriter, thread } from './stage-writer.ts';

type Pair = readonly [number, number];

interface Window {
  readonly stride: Pair;
  readonly padding: Pair;
  readonly dilation: Pair;
  readonly groups: number;
}

const windowOf = (attrs: Attrs) => attrs as unknown as Window;

/** Splits the thread index over a shape, into coordinates with the given names. */
export function coordinates(
  w: StageWriter,
  shape: readonly number[],
  names: readonly string[],
): void {
  let rest = thread;
  for (let d = shape.length - 1; d > 0; d--) {
    const quotient = d === 1 ? names[0]! : w.name();
    w.line(...divisionCode(rest, shape[d]!, quotient, names[d]!));
    rest = quotient;
  }
}

/** Returns the text of an element of an NCHW tensor. */
export function element(meta: TensorMeta, n: string, c: string, h: string, wide: string): string {
  const [ns, cs, hs, ws] = meta.strides;
  return `(${n})*${ns}+(${c})*${cs}+(${h})*${hs}+(${wide})*${ws}`;
}

const inside = (h: string, wide: string, [height, width]: readonly number[]) =>
  `${h}>=0.0&&${h}<${height}&&${wide}>=0.0&&${wide}<${width}`;

export const conv2d: NamedPlan = ([x, weight], [out], attrs) => {
  const { stride, padding, dilation, groups } = windowOf(attrs);
  const [, perGroup, kernelH, kernelW] = weight!.shape as [number, number, number, number];
  const w = new StageWriter();
  const image = w.array(input(0));
  const kernel = w.array(input(1));
  coordinates(w, out!.shape, ['n', 'o', 'oh', 'ow']);
  w.line(...divisionCode('o', weight!.shape[0]! / groups, 'group', 'inGroup'));
  const sum = w.let('0.0');
  w.loop(perGroup, (c) =>
    w.loop(kernelH, (kh) => {
      const h = w.let(`oh*${stride[0]}+${kh}*${dilation[0]}-${padding[0]}`);
      w.loop(kernelW, (kw) => {
        const wide = w.let(`ow*${stride[1]}+${kw}*${dilation[1]}-${padding[1]}`);
        w.line(`if(${inside(h, wide, x!.shape.slice(2))}){`);
        const pixel = image.at(element(x!, 'n', `group*${perGroup}+${c}`, h, wide));
        const factor = kernel.at(element(weight!, 'o', c, kh, kw));
        w.line(`${sum}=${sum}+${pixel}*${factor};`, '}');
      });
    }),
  );
  return singleStage(w.into(output(0), out!, sum));
};

/** Each element of x sums over the outputs it contributed to, whose windows start at a multiple of the stride. */
export const conv2dInputGrad: NamedPlan = ([dy, weight, x], [dx], attrs) => {
  const { stride, padding, dilation, groups } = windowOf(attrs);
  const [outAll, perGroup, kernelH, kernelW] = weight!.shape as [number, number, number, number];
  const outPerGroup = outAll / groups;
  const w = new StageWriter();
  const grad = w.array(input(0));
  const kernel = w.array(input(1));
  coordinates(w, x!.shape, ['n', 'c', 'h', 'wide']);
  w.line(...divisionCode('c', perGroup, 'group', 'inGroup'));
  const sum = w.let('0.0');
  w.loop(kernelH, (kh) => {
    const top = w.let(`h+${padding[0]}-${kh}*${dilation[0]}`);
    const [oh, restH] = quotient(w, top, stride[0]);
    w.loop(kernelW, (kw) => {
      const left = w.let(`wide+${padding[1]}-${kw}*${dilation[1]}`);
      const [ow, restW] = quotient(w, left, stride[1]);
      const fits = `${restH}===0.0&&${restW}===0.0&&${inside(oh, ow, dy!.shape.slice(2))}`;
      w.line(`if(${fits}){`);
      w.loop(outPerGroup, (k) => {
        const o = w.let(`group*${outPerGroup}+${k}`);
        const factor = kernel.at(element(weight!, o, 'inGroup', kh, kw));
        w.line(`${sum}=${sum}+${grad.at(element(dy!, 'n', o, oh, ow))}*${factor};`);
      });
      w.line('}');
    });
  });
  return singleStage(w.into(output(0), dx!, sum));
};

/** The input gradient of the convolution that maps the result to x. */
export const convTranspose2d: NamedPlan = ([x, weight], [out], attrs) =>
  conv2dInputGrad([x!, weight!, out!], [out!], attrs);

function quotient(w: StageWriter, value: string, divisor: number): [string, string] {
  const names: [string, string] = [w.name(), w.name()];
  w.line(...divisionCode(value, divisor, ...names));
  return names;
}

export const conv2dWeightGrad: NamedPlan = ([dy, x, weight], [dw], attrs) => {
  const { stride, padding, dilation, groups } = windowOf(attrs);
  const [outAll, perGroup] = weight!.shape as [number, number];
  const [batch, , outH, outW] = dy!.shape as [number, number, number, number];
  const w = new StageWriter();
  const grad = w.array(input(0));
  const image = w.array(input(1));
  coordinates(w, weight!.shape, ['o', 'c', 'kh', 'kw']);
  w.line(...divisionCode('o', outAll / groups, 'group', 'inGroup'));
  const sum = w.let('0.0');
  w.loop(batch, (n) =>
    w.loop(outH, (oh) => {
      const h = w.let(`${oh}*${stride[0]}+kh*${dilation[0]}-${padding[0]}`);
      w.loop(outW, (ow) => {
        const wide = w.let(`${ow}*${stride[1]}+kw*${dilation[1]}-${padding[1]}`);
        w.line(`if(${inside(h, wide, x!.shape.slice(2))}){`);
        const pixel = image.at(element(x!, n, `group*${perGroup}+c`, h, wide));
        w.line(`${sum}=${sum}+${pixel}*${grad.at(element(dy!, n, 'o', oh, ow))};`, '}');
      });
    }),
  );
  return singleStage(w.into(output(0), dw!, sum));
};
