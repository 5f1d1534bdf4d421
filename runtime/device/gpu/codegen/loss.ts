import { input, output, singleStage } from '../kernel-plan.ts';
import { divisionCode } from './index-code.ts';
import type { NamedPlan } from './named-plan.ts';
import { sumOfLoop } from './reduce.ts';
import { StageWriter, thread } from './stage-writer.ts';

/**
 * One thread adds all rows up: a batch is short, and only one number per row is read. A label that is
 * no class reads NaN: a GPU can't throw.
 */
export const nllLoss: NamedPlan = ([logProbs, target], [out]) => {
  const [rows, classes] = logProbs!.shape as [number, number];
  const [row, column] = logProbs!.strides as [number, number];
  const w = new StageWriter();
  const scores = w.array(input(0));
  const labels = w.array(input(1));
  const sum = sumOfLoop(w, rows, (k) => {
    const label = w.let(labels.at(`${k}*${target!.strides[0]!}`));
    const score = w.let(scores.at(`${k}*${row}+${label}*${column}`));
    return `(${label}>=0.0&&${label}<${classes}?${score}:${w.nan})`;
  });
  return singleStage(w.into(output(0), out!, `-${sum}/${rows}`));
};

export const nllLossGrad: NamedPlan = ([, target, logProbs], [dx]) => {
  const [rows, classes] = logProbs!.shape as [number, number];
  const w = new StageWriter();
  const dy = w.array(input(0));
  const labels = w.array(input(1));
  w.line(...divisionCode(thread, classes, 'row', 'column'));
  const label = w.let(labels.at(`row*${target!.strides[0]!}`));
  const share = w.let(`-${dy.at('0.0')}/${rows}`);
  const own = w.let(`(${label}===column?${share}:0.0)`);
  const known = `(${label}>=0.0&&${label}<${classes}?${own}:${w.nan})`;
  return singleStage(w.into(output(0), dx!, known));
};
