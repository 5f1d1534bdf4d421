import type { Attrs } from '../../../kernel-op.ts';
import type { TensorMeta } from '../../../tensor-meta.ts';
import { asItIs, type ElementAt, foldPlan, sizesOf } from '../fold-plan.ts';
import { folds } from '../fold-text.ts';
import { splitText } from '../index-text.ts';
import type { KernelPlanner } from '../wgsl-plan.ts';
import type { WgslWriter } from '../wgsl-writer.ts';
import { weightProductPlan } from './weight-product.ts';

type Pair = readonly [number, number];

/**
 * [n, o, oh, ow], [n, c, h, w] → [o, c / groups, kh, kw]: each element is the sum of n × oh × ow products, by
 * tiles, or with few channels by threads that share it.
 */
export const convWeightGradPlan: KernelPlanner = (inputs, outputs, attrs, facts) => {
  const tiled = weightProductPlan(inputs, outputs, attrs, facts);
  if (tiled) return tiled;
  const [dy, x] = inputs;
  const [dw] = outputs;
  const [batch, , outHeight, outWidth] = dy!.shape as [number, number, number, number];
  return foldPlan({
    fold: folds.sum,
    sizes: sizesOf(dw!, batch * outHeight * outWidth),
    inputs,
    reads: [0, 1],
    out: dw!,
    source: (w, at) => products(w, at, [dy!, x!, dw!], attrs),
    result: asItIs,
  });
};

function products(
  w: WgslWriter,
  at: ElementAt,
  [dy, x, dw]: readonly [TensorMeta, TensorMeta, TensorMeta],
  attrs: Attrs,
) {
  const [, , height, width] = x.shape as [number, number, number, number];
  const [outAll, perGroup, kernelHeight, kernelWidth] = dw.shape as [
    number,
    number,
    number,
    number,
  ];
  const [, , outHeight, outWidth] = dy.shape as [number, number, number, number];
  const window = (name: string, d: 0 | 1) => w.count(`${name}${d}`, (attrs[name] as Pair)[d]!);
  const strides = (name: string, meta: TensorMeta) =>
    meta.strides.map((stride, d) => w.count(`${name}${d}`, stride));
  return (out: string) => {
    const split = (value: string, name: string, size: number) =>
      splitText(w, value, w.count(name, size));
    const [rows, kw] = split(out, 'kernelWidth', kernelWidth);
    const [planes, kh] = split(rows, 'kernelHeight', kernelHeight);
    const [o, inGroup] = split(planes, 'perGroup', perGroup);
    const group = w.let(`${o} / ${w.count('outPerGroup', outAll / (attrs.groups as number))}`);
    const c = w.let(`${group} * ${w.count('perGroup', perGroup)} + ${inGroup}`);
    return (r: string) => {
      const [lines, ow] = split(r, 'outWidth', outWidth);
      const [n, oh] = split(lines, 'outHeight', outHeight);
      const place = (along: string, k: string, d: 0 | 1) =>
        w.let(
          `i32(${along} * ${window('stride', d)} + ${k} * ${window('dilation', d)}) - i32(${window('padding', d)})`,
        );
      const [h, v] = [place(oh, kh, 0), place(ow, kw, 1)];
      const product = w.name();
      const index = (name: string, meta: TensorMeta, coordinates: readonly string[]) =>
        strides(name, meta)
          .map((stride, d) => `${coordinates[d]!} * ${stride}`)
          .join(' + ');
      const pixel = at(1, index('x', x, [n, c, `u32(${h})`, `u32(${v})`]));
      const grad = at(0, index('dy', dy, [n, o, oh, ow]));
      const isInside = `${h} >= 0 && ${h} < i32(${w.count('height', height)}) && ${v} >= 0 && ${v} < i32(${w.count('width', width)})`;
      w.line(`var ${product} = 0.0f;`, `if (${isInside}) { ${product} = ${pixel} * ${grad}; }`);
      return product;
    };
  };
}
