import { input, output, singleStage } from '../core/kernel-plan.ts';
import type { NamedPlan } from './named-plan.ts';
import { StageWriter } from './stage-writer.ts';

/** Products per loop iteration, because loop overhead is a considerable part of a thread's work. */
const unroll = 4;

/** One thread per element of the product; gpu.js has no workgroup memory for tiles. */
export const matmul: NamedPlan = ([a, b], [out]) => {
  const rank = out!.shape.length;
  const depth = a!.shape[rank - 1]!;
  const aStep = a!.strides[rank - 1]!;
  const bStep = b!.strides[rank - 2]!;
  // Both operands indexed like the output: a repeats along columns, b along rows.
  const aStrides = [...a!.strides.slice(0, -1), 0];
  const bStrides = [...b!.strides.slice(0, -2), 0, b!.strides[rank - 1]!];
  const w = new StageWriter();
  const left = w.array(input(0));
  const right = w.array(input(1));
  const [x, y] = w.indices(out!.shape, [aStrides, bStrides]);
  const sum = w.let('0.0');
  const step = () => {
    w.line(`${sum}=${sum}+${left.at(x!)}*${right.at(y!)};`);
    w.line(`${x}=${x}+${aStep};`, `${y}=${y}+${bStep};`);
  };
  const rounds = Math.floor(depth / unroll);
  if (rounds > 0) w.loop(rounds, () => repeat(unroll, step));
  repeat(depth % unroll, step);
  return singleStage(w.into(output(0), out!, sum));
};

function repeat(times: number, body: () => void): void {
  for (let i = 0; i < times; i++) body();
}
