import { sizeOf } from '../../../spec/shape.ts';
import { contiguousMeta, type TensorMeta } from '../../tensor-meta.ts';
import { input, output, scratch } from '../core/kernel-plan.ts';
import { elementTypeOf } from './elements/element-type.ts';
import { type ElementAt, elementsOf, foldPlan } from './fold-plan.ts';
import { folds } from './fold-text.ts';
import {
  chosenByNothing,
  type KernelPlanner,
  readOperand,
  type WgslOperand,
  type WgslPlan,
  type WgslStage,
} from './wgsl-plan.ts';
import { groupsOf, workgroupThreads } from './wgsl-text.ts';
import { WgslWriter } from './wgsl-writer.ts';

/** An ignored label, as on the CPU. */
const ignored = '-100i';

/** 1 for a counted label, 0 for an ignored one. */
const counts = (label: string) => `select(1.0f, 0.0f, ${label} == ${ignored})`;

/** The sum of the rows' losses and the number of counted labels, by one workgroup. */
export function nllLossPlan(inputs: readonly TensorMeta[], [out]: readonly TensorMeta[]): WgslPlan {
  const [logProbs, target] = inputs;
  const [rows, classes] = logProbs!.shape as [number, number];
  const [row, column] = logProbs!.strides as [number, number];
  return foldPlan({
    fold: folds.sums,
    sizes: { outputs: 1, count: rows },
    inputs,
    reads: [0, 1],
    out: out!,
    isWhole: true,
    source: (w, at) => () => (r) => {
      const label = w.let(at(1, `${r} * ${w.count('labelStep', target!.strides[0]!)}`));
      const isClass = w.let(isClassText(w, label, classes));
      const place = w.let(`u32(select(0i, ${label}, ${isClass}))`);
      const index = `${r} * ${w.count('rowStep', row)} + ${place} * ${w.count('columnStep', column)}`;
      const score = w.let(at(0, index));
      // A GPU can't throw, so the loss of an invalid label is NaN.
      const labelScore = w.let(
        `select(select(u.nan, 0.0f, ${label} == ${ignored}), ${score}, ${isClass})`,
      );
      return `vec2<f32>(${labelScore}, ${counts(label)})`;
    },
    result: (value) => `select(u.nan, -${value}.x / ${value}.y, ${value}.y > 0.0f)`,
  });
}

/** −dy over the number of counted labels, by one workgroup. */
export function nllLossSharePlan(
  inputs: readonly TensorMeta[],
  [share]: readonly TensorMeta[],
): WgslPlan {
  const target = inputs[1];
  return foldPlan({
    fold: folds.sum,
    sizes: { outputs: 1, count: target!.shape[0]! },
    inputs,
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

/** Up to this many rows, each thread counts the labels itself, which is cheaper than another dispatch. */
const fewRows = 64;

/** −dy over the number of counted labels at each label, 0 elsewhere. */
export const nllLossGradPlan: KernelPlanner = (inputs, [dx]) => {
  const [, target] = inputs;
  const [rows, classes] = dx!.shape as [number, number];
  const isFew = rows <= fewRows;
  const labels = readOperand(input(1), 'int32');
  const divided = isFew
    ? readOperand(input(0), elementTypeOf(inputs[0]!.dtype))
    : readOperand(scratch(0), 'float32');
  const elements = labelStage([labels, divided], dx!, (w, at, place) => {
    const step = w.count('labelStep', target!.strides[0]!);
    const label = w.let(at(0, `${place.row} * ${step}`));
    const share = isFew ? countedShare(w, at, step, rows) : w.let(at(1, '0u'));
    const gradient = `select(0.0f, ${share}, u32(${label}) == ${place.column})`;
    return knownLabel(w, label, classes, gradient);
  });
  if (isFew) return { scratch: [], stages: [elements] };
  const [share] = nllLossSharePlan(inputs, [
    contiguousMeta({ dtype: 'float32', shape: [] }, dx!.device),
  ]).stages;
  const toScratch = (operand: WgslOperand): WgslOperand =>
    operand.slot.kind === 'output' ? { ...operand, slot: scratch(0) } : operand;
  const shared = { ...share!, operands: share!.operands.map(toScratch) };
  return { scratch: [1], stages: [shared, elements] };
};

/** logSoftmaxGrad of nllLossGrad, from a label's gradient, the labels and the result of logSoftmax. */
export const crossEntropyGradPlan: KernelPlanner = (inputs, [dx]) => {
  const [, target, logProbs] = inputs;
  const read = inputs.map(({ dtype }, i) => readOperand(input(i), elementTypeOf(dtype)));
  const classes = dx!.shape[1]!;
  const [row, column] = logProbs!.strides as [number, number];
  return {
    scratch: [],
    stages: [
      labelStage(read, dx!, (w, at, place) => {
        const share = w.let(at(0, '0u'));
        const label = w.let(at(1, `${place.row} * ${w.count('labelStep', target!.strides[0]!)}`));
        const index = `${place.row} * ${w.count('rowStep', row)} + ${place.column} * ${w.count('columnStep', column)}`;
        const probability = w.let(`f_exp(${at(2, index)})`);
        const sum = `select(${share}, 0.0f, ${label} == ${ignored})`;
        const gradient = `select(0.0f, ${share}, u32(${label}) == ${place.column})`;
        return knownLabel(w, label, classes, `${gradient} - ${probability} * ${sum}`);
      }),
    ],
  };
};

function countedShare(w: WgslWriter, at: ElementAt, step: string, rows: number): string {
  const [count, own] = [w.name(), w.let(`-${at(1, '0u')}`)];
  w.line(
    `var ${count} = 0.0f;`,
    `for (var k = 0u; k < ${w.count('rows', rows)}; k = k + 1u) { ${count} = ${count} + ${counts(at(0, `k * ${step}`))}; }`,
  );
  return w.let(`select(${own} * u.inf, ${own} / ${count}, ${count} > 0.0f)`);
}

/** Returns `value` for a class or an ignored label, NaN for any other label, because a GPU can't throw. */
function knownLabel(w: WgslWriter, label: string, classes: number, value: string): string {
  return `select(u.nan, ${value}, ${isClassText(w, label, classes)} || ${label} == ${ignored})`;
}

interface LabelPlace {
  readonly row: string;
  readonly column: string;
}

/** Returns a stage with a thread per element of [rows, classes]. */
function labelStage(
  reads: readonly WgslOperand[],
  dx: TensorMeta,
  value: (w: WgslWriter, at: ElementAt, place: LabelPlace) => string,
): WgslStage {
  const total = sizeOf(dx.shape);
  return {
    operands: [
      ...reads,
      {
        slot: output(0),
        written: true,
        walk: null,
        elements: total,
        type: elementTypeOf(dx.dtype),
      },
    ],
    isEmpty: total === 0,
    chosenBy: chosenByNothing,
    write: (issue) => {
      const w = new WgslWriter(workgroupThreads, issue);
      const at = elementsOf(w);
      const columns = w.count('columns', dx.shape[1]!);
      w.line(
        `let e = group * ${workgroupThreads}u + thread;`,
        `if (e >= ${w.count('elements', total)}) { return; }`,
      );
      const row = w.let(`e / ${columns}`);
      const column = w.let(`e - ${row} * ${columns}`);
      const [rowStep, columnStep] = dx.strides.map((stride, d) => w.count(`out${d}`, stride));
      const stored = value(w, at, { row, column });
      const target = `${w.offset(reads.length)} + ${row} * ${rowStep} + ${column} * ${columnStep}`;
      w.line(w.store(reads.length, target, stored));
      const groups = groupsOf(Math.ceil(total / workgroupThreads));
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
}

/** As a u32, a negative label exceeds every class. */
function isClassText(w: WgslWriter, label: string, classes: number): string {
  return `(u32(${label}) < ${w.count('classes', classes)})`;
}
