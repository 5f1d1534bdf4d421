import { E } from '../../../ops/expr/expr.ts';
import type { DType } from '../../../spec/dtype.ts';
import { contiguousStrides } from '../../../spec/shape.ts';
import { input, output, singleStage } from '../core/kernel-plan.ts';
import { compareCode, unaryCode } from './math-code.ts';
import type { NamedPlan } from './named-plan.ts';
import { pointwisePlan } from './pointwise.ts';
import { StageWriter } from './stage-writer.ts';

export const fill: NamedPlan = (_inputs, [out]) => {
  const w = new StageWriter();
  const value = w.attr('value');
  return singleStage(w.into(output(0), out!, storedNumber(w, value, out!.dtype)));
};

function storedNumber(w: StageWriter, value: string, dtype: DType): string {
  if (dtype === 'bool') return compareCode('ne', value, '0.0');
  return dtype === 'int32' ? unaryCode.toInt(w, value) : value;
}

export const copy: NamedPlan = (inputs, [out], attrs) =>
  pointwisePlan(E.input(0), inputs, out!, attrs);

export const copyInto: NamedPlan = (inputs, [target], attrs) =>
  pointwisePlan(E.input(1), inputs, target!, attrs);

/** Each element of the result checks whether it lies in the narrowed range. */
export const narrowGrad: NamedPlan = ([dy], [dx], attrs) => {
  const dim = attrs.dim as number;
  const start = attrs.start as number;
  const length = dy!.shape[dim]!;
  const w = new StageWriter();
  const ref = w.array(input(0));
  // dy indexed like dx: the same strides, `start` steps before its first element.
  const alongDim = contiguousStrides(dx!.shape).map((_, d) => (d === dim ? 1 : 0));
  const [index, place] = w.indices(dx!.shape, [dy!.strides, alongDim]);
  const from = start * dy!.strides[dim]!;
  const inside = w.let(`(${place}>=${start}&&${place}<${start + length}?1.0:0.0)`);
  const safe = w.let(`(${inside}>0.5?${index}-${from}:0.0)`);
  const value = w.let(ref.at(safe));
  return singleStage(w.into(output(0), dx!, `(${inside}>0.5?${value}:0.0)`));
};
