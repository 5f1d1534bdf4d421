import { type DimArithmetic, resampled } from '../../lowering/resampling.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import { fixedAttr, fixedShape, type OpCall, type OpMapping } from '../emit/op-mapping.ts';

function along(to: Emitter, dim: number): DimArithmetic<Value> {
  return {
    to,
    entries(x, places) {
      const shape = x.shape.map((size, d) => (d === dim ? places.length : size));
      const index = to.literal(places, 'i64', [places.length]);
      return to.op('Gather', [x, index], x.element, shape, { axis: dim });
    },
    factors: (values, { element, shape }) =>
      to.literal(
        values,
        element,
        shape.slice(dim).map((_, d) => (d === 0 ? values.length : 1)),
      ),
    product(x, matrix, size) {
      const dims = x.shape.map((_, d) => d);
      const order = [...dims.filter((d) => d !== dim), dim];
      const last = to.transpose(x, order);
      const weights = to.literal(matrix, x.element, [matrix.length / size, size]);
      const shape = [...last.shape.slice(0, -1), size];
      return to.transpose(
        to.op('MatMul', [last, weights], x.element, shape),
        dims.map((d) => order.indexOf(d)),
      );
    },
  };
}

const resample =
  (isGradient: boolean): OpMapping =>
  (call: OpCall) => {
    const { to, inputs, outputs } = call;
    const [x] = inputs as [Value];
    const dim = fixedAttr(call, 'dim');
    const sizes = fixedShape(call, [x.shape[dim]!, outputs[0]!.shape[dim]!], 'size');
    const [from, size] = isGradient ? sizes.toReversed() : sizes;
    const attrs = Object.fromEntries(
      Object.entries(call.attrs).map(([name, value]) => [
        name,
        typeof value === 'object' ? fixedAttr(call, name) : value,
      ]),
    );
    return resampled(along(to, dim), x, { from: from!, size: size!, attrs, isGradient });
  };

export const resamplingOps: Readonly<Record<string, OpMapping>> = {
  resample: resample(false),
  resampleGrad: resample(true),
};
