import { input, output, scratch, singleStage } from '../core/kernel-plan.ts';
import { divisionCode } from './index-code.ts';
import { unaryCode } from './math-code.ts';
import type { NamedPlan } from './named-plan.ts';
import { sumOfLoop } from './reduce.ts';
import { type ArrayRef, StageWriter, thread } from './stage-writer.ts';

/** An ignored label, as on the CPU. */
const ignored = '-100.0';

/** Up to this many rows, each thread counts the labels itself, which is cheaper than another kernel. */
const fewRows = 64;

/** Writes the number of labels that are not ignored. */
function counted(w: StageWriter, labels: ArrayRef, rows: number, stride: number): string {
  return sumOfLoop(w, rows, (k) => {
    const label = w.let(labels.at(`${k}*${stride}`));
    return `(${label}===${ignored}?0.0:1.0)`;
  });
}

/** Returns `value` for a class or an ignored label, NaN for any other label, because a GPU can't throw. */
function known(w: StageWriter, label: string, classes: number, value: string): string {
  return `((${label}>=0.0&&${label}<${classes})||${label}===${ignored}?${value}:${w.nan})`;
}

/** One thread sums all rows: a batch is short, and only one number per row is read. */
export const nllLoss: NamedPlan = ([logProbs, target], [out]) => {
  const [rows, classes] = logProbs!.shape as [number, number];
  const [row, column] = logProbs!.strides as [number, number];
  const stride = target!.strides[0]!;
  const w = new StageWriter();
  const scores = w.array(input(0));
  const labels = w.array(input(1));
  const sum = sumOfLoop(w, rows, (k) => {
    const label = w.let(labels.at(`${k}*${stride}`));
    const place = w.let(`(${label}>=0.0&&${label}<${classes}?${label}:0.0)`);
    const score = w.let(scores.at(`${k}*${row}+${place}*${column}`));
    const own = w.let(`(${label}===${ignored}?0.0:${score})`);
    return known(w, label, classes, own);
  });
  const count = counted(w, labels, rows, stride);
  return singleStage(w.into(output(0), out!, `(${count}>0.0?-${sum}/${count}:${w.nan})`));
};

/** Writes −dy over the number of counted labels. */
function shareOf(w: StageWriter, rows: number, stride: number): string {
  const dy = w.array(input(0));
  const count = counted(w, w.array(input(1)), rows, stride);
  const negated = w.let(`-${dy.at('0.0')}`);
  return w.let(`(${count}>0.0?${negated}/${count}:${negated}*${w.infinity})`);
}

export const nllLossShare: NamedPlan = ([, target], [share]) => {
  const w = new StageWriter();
  const value = shareOf(w, target!.shape[0]!, target!.strides[0]!);
  return singleStage(w.into(output(0), share!, value));
};

export const nllLossGrad: NamedPlan = ([, target, logProbs], [dx]) => {
  const [rows, classes] = logProbs!.shape as [number, number];
  const stride = target!.strides[0]!;
  const w = new StageWriter();
  const few = rows <= fewRows;
  const share = few ? shareOf(w, rows, stride) : w.let(w.array(scratch(0)).at('0.0'));
  w.line(...divisionCode(thread, classes, 'row', 'column'));
  const label = w.let(w.array(input(1)).at(`row*${stride}`));
  const labelShare = w.let(`(${label}===column?${share}:0.0)`);
  const elements = w.into(output(0), dx!, known(w, label, classes, labelShare));
  if (few) return singleStage(elements);
  const first = new StageWriter();
  const shared = first.intoScratch(scratch(0), 1, shareOf(first, rows, stride));
  return { scratch: [1], stages: [shared, elements] };
};

/** logSoftmaxGrad of nllLossGrad: [n, classes] from a label's gradient, the labels and the result of logSoftmax. */
export const crossEntropyGrad: NamedPlan = ([, target, logProbs], [dx]) => {
  const classes = logProbs!.shape[1]!;
  const w = new StageWriter();
  const share = w.let(w.array(input(0)).at('0.0'));
  w.line(...divisionCode(thread, classes, 'row', 'column'));
  const label = w.let(w.array(input(1)).at(`row*${target!.strides[0]!}`));
  const [at] = w.indices(dx!.shape, [logProbs!.strides]);
  const probability = unaryCode.exp(w, w.let(w.array(input(2), true).at(at!)));
  const sum = w.let(`(${label}===${ignored}?0.0:${share})`);
  const labelShare = w.let(`(${label}===column?${share}:0.0)`);
  const value = w.let(`${labelShare}-${probability}*${sum}`);
  return singleStage(w.into(output(0), dx!, known(w, label, classes, value)));
};
