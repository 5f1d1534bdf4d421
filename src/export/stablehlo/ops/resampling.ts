import { type DimArithmetic, resampled } from '../../lowering/resampling.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import { fixedAttr, type OpCall, type OpMapping } from '../emit/op-mapping.ts';
import { gatherFrom } from './gathering.ts';

function along(to: Emitter, dim: number): DimArithmetic<Value> {
  return {
    to,
    entries: (x, places) => gatherFrom(to, x, to.literal(places, 'i32', [1, places.length]), dim),
    factors: (values, { element, shape }) =>
      to.broadcastIn(to.literal(values, element, [values.length]), [dim], shape),
    product(x, matrix, size) {
      const dims = x.shape.map((_, d) => d);
      const order = [...dims.filter((d) => d !== dim), dim];
      const last = to.transpose(x, order);
      const from = x.shape[dim]!;
      const lead = last.shape.slice(0, -1);
      const rows = to.reshape(last, [lead.reduce((count, each) => count * each, 1), from]);
      const result = to.matmul(rows, to.literal(matrix, x.element, [from, size]));
      return to.transpose(
        to.reshape(result, [...lead, size]),
        dims.map((d) => order.indexOf(d)),
      );
    },
  };
}

const resample =
  (isGradient: boolean): OpMapping =>
  (call: OpCall) => {
    const { to, inputs, outputs, attrs } = call;
    const [x] = inputs as [Value];
    const dim = fixedAttr(call, 'dim');
    const sizes = [x.shape[dim]!, outputs[0]!.shape[dim]!];
    const [from, size] = isGradient ? sizes.toReversed() : sizes;
    return resampled(along(to, dim), x, { from: from!, size: size!, attrs, isGradient });
  };

export const resamplingOps: Readonly<Record<string, OpMapping>> = {
  resample: resample(false),
  resampleGrad: resample(true),
};
