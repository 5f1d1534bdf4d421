import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, output, type Slot, type Stage } from '../core/kernel-plan.ts';
import { coordinates, element } from './conv.ts';
import type { NamedPlan } from './named-plan.ts';
import { StageWriter } from './stage-writer.ts';

type Pair = readonly [number, number];

/** A kernel writes one buffer, so values and indices are computed by two kernels with the same search. */
export const maxPool2d: NamedPlan = ([x], [out, indices], attrs) => ({
  scratch: [],
  stages: [
    search(x!, out!, attrs, output(0), 'best'),
    search(x!, indices!, attrs, output(1), 'place'),
  ],
});

function search(
  x: TensorMeta,
  out: TensorMeta,
  attrs: Attrs,
  target: Slot,
  result: 'best' | 'place',
): Stage {
  const [kernelH, kernelW] = attrs.kernel as Pair;
  const [strideH, strideW] = attrs.stride as Pair;
  const [padH, padW] = attrs.padding as Pair;
  const [dilationH, dilationW] = attrs.dilation as Pair;
  const [, , height, width] = x.shape as [number, number, number, number];
  const w = new StageWriter();
  const image = w.array(input(0));
  coordinates(w, out.shape, ['n', 'c', 'oh', 'ow']);
  // −1 means that no element was read yet, so that a window of −Infinity still gets an index.
  w.line('let place=-1.0;', `let best=-${w.infinity};`);
  w.loop(kernelH, (kh) => {
    const h = w.let(`oh*${strideH}+${kh}*${dilationH}-${padH}`);
    w.loop(kernelW, (kw) => {
      const wide = w.let(`ow*${strideW}+${kw}*${dilationW}-${padW}`);
      w.line(`if(${h}>=0.0&&${h}<${height}&&${wide}>=0.0&&${wide}<${width}){`);
      const value = w.let(image.at(element(x, 'n', 'c', h, wide)));
      const take = `best=${value};place=${h}*${width}+${wide};`;
      // NaN wins, as does the first of equal elements.
      w.line(`if(place<0.0){${take}}`);
      w.line(`if(!(${value}<=best)&&(best>0.0||best<=0.0)){${take}}`, '}');
    });
  });
  return w.into(target, out, result);
}

/** Each element of x checks which windows of its plane selected it. */
export const maxPool2dGrad: NamedPlan = ([dy, indices, x], [dx]) => {
  const [, , height, width] = x!.shape as [number, number, number, number];
  const [, , outH, outW] = dy!.shape as [number, number, number, number];
  const w = new StageWriter();
  const grad = w.array(input(0));
  const places = w.array(input(1));
  coordinates(w, [x!.shape[0]!, x!.shape[1]!, height * width], ['n', 'c', 'own']);
  const sum = w.let('0.0');
  w.loop(outH, (oh) =>
    w.loop(outW, (ow) => {
      w.line(`if(${places.at(element(indices!, 'n', 'c', oh, ow))}===own){`);
      w.line(`${sum}=${sum}+${grad.at(element(dy!, 'n', 'c', oh, ow))};`, '}');
    }),
  );
  return { scratch: [], stages: [w.into(output(0), dx!, sum)] };
};
