import type { TensorMeta } from '../../../tensor/meta.ts';
import { foldPlan } from './fold-plan.ts';
import { folds } from './fold-text.ts';
import type { WgslPlan } from './wgsl-plan.ts';
import type { WgslWriter } from './wgsl-writer.ts';

/** A label that doesn't count, as on the CPU. */
const ignored = '-100.0f';

/** 1 for a label that counts, 0 for one that is ignored. */
const counts = (label: string) => `select(1.0f, 0.0f, ${label} == ${ignored})`;

/** The sum of the rows' losses and the number of labels that count, by one workgroup. */
export function nllLossPlan(
  [logProbs, target]: readonly TensorMeta[],
  [out]: readonly TensorMeta[],
): WgslPlan {
  const [rows, classes] = logProbs!.shape as [number, number];
  const [row, column] = logProbs!.strides as [number, number];
  return foldPlan({
    fold: folds.sums,
    sizes: { outputs: 1, count: rows },
    reads: [0, 1],
    out: out!,
    isWhole: true,
    source: (w, at) => () => (r) => {
      const label = w.let(at(1, `${r} * ${w.count('labelStep', target!.strides[0]!)}`));
      const isClass = w.let(`${label} >= 0.0f && ${label} < ${classCount(w, classes)}`);
      const place = w.let(`u32(select(0.0f, ${label}, ${isClass}))`);
      const index = `${r} * ${w.count('rowStep', row)} + ${place} * ${w.count('columnStep', column)}`;
      const score = w.let(at(0, index));
      // A GPU can't throw: the loss of any other label is NaN.
      const own = w.let(
        `select(select(u.nan, 0.0f, ${label} == ${ignored}), ${score}, ${isClass})`,
      );
      return `vec2<f32>(${own}, ${counts(label)})`;
    },
    result: (value) => `select(u.nan, -${value}.x / ${value}.y, ${value}.y > 0.0f)`,
  });
}

/** −dy over the number of labels that count, by one workgroup. */
export function nllLossSharePlan(
  [, target]: readonly TensorMeta[],
  [share]: readonly TensorMeta[],
): WgslPlan {
  return foldPlan({
    fold: folds.sum,
    sizes: { outputs: 1, count: target!.shape[0]! },
    reads: [0, 1],
    out: share!,
    isWhole: true,
    source: (w, at) => () => (r) => {
      const label = w.let(at(1, `${r} * ${w.count('labelStep', target!.strides[0]!)}`));
      return counts(label);
    },
    result: (value, at) =>
      `select(-${at(0, '0u')} * u.inf, -${at(0, '0u')} / ${value}, ${value} > 0.0f)`,
  });
}

function classCount(w: WgslWriter, classes: number): string {
  return w.uniform('classes', { kind: 'number', value: classes });
}
