import { DynamicTensor } from '../../runtime/device/dynamic-tensor.ts';
import { userName } from '../../runtime/device/kernel-op.ts';
import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import type { UserPosition } from '../../runtime/errors/position.ts';
import type { ProgramOp } from '../../runtime/program/program.ts';
import type { Slot } from '../../runtime/run-program/scope/scope.ts';
import { type Watcher, withWatcher } from '../../runtime/run-program/watcher.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { optionsWith, repeat, variantOf } from './culprit.ts';
import { Images } from './images.ts';
import { disposeOutcome, firstDifference } from './outcome.ts';
import type { Reading } from './reading.ts';
import type { BackwardCall, Scenario } from './scenario.ts';
import type { CompiledFrom } from './sources.ts';

/** The op that computes a value, and the user's line. */
interface FoundValue {
  readonly op: string;
  readonly at: UserPosition | undefined;
}

interface TrackedTensor extends FoundValue {
  readonly tensor: Tensor;
}

/** The most bytes of values to keep for comparison. */
const mostBytes = 512 * 2 ** 20;

/** Copies every value of a run, by its id and the control ops around it. */
class Recorder implements Watcher {
  readonly values = new Map<string, TrackedTensor>();
  #bytes = 0;
  readonly #path: string[] = [];
  /** How often each value was computed: once per iteration of a loop. */
  readonly #times = new Map<string, number>();

  begin({ outputs }: ProgramOp): void {
    this.#path.push(String(outputs[0]));
  }

  end(): void {
    this.#path.pop();
  }

  value({ op, at }: ProgramOp, id: number, meta: TensorMeta, { holder, offset }: Slot): void {
    const path = [...this.#path, id].join('/');
    const time = this.#times.get(path) ?? 0;
    this.#times.set(path, time + 1);
    // Tapes, lists and tensors of data-dependent size have no memory of their own.
    if (!holder || holder instanceof DynamicTensor || holder.bytes === 0) return;
    this.#bytes += holder.bytes;
    if (this.#bytes > mostBytes) return;
    const { dtype, shape, strides, device } = meta;
    const shown = new Tensor({ dtype, shape, strides, offset, device }, holder.retain());
    const images = new Images([shown]);
    shown.dispose();
    const tensor = images.make()[0]!;
    images.dispose();
    this.values.set(`${path}#${time}`, { op: userName(op), at, tensor });
  }

  dispose(): void {
    for (const { tensor } of this.values.values()) tensor.dispose();
  }
}

/**
 * Finds the first value, in the order of the plan without the culprit, that differs once the culprit is enabled.
 * `index`: the culprit's index among the suspects. Null if no value that both plans compute differs.
 */
export function* firstValueThatDiffers(
  source: CompiledFrom,
  index: number,
  scenario: Scenario,
  call: BackwardCall | null,
): Reading<FoundValue | null> {
  const [before, after] = [index, index + 1].map((count) => record(source, count, scenario, call));
  try {
    for (const [path, { op, at, tensor }] of before!.values) {
      const other = after!.values.get(path)?.tensor;
      if (!other || !isComparable(tensor, other)) continue;
      const [a, b] = yield [tensor, other];
      if (firstDifference(tensor.dtype, a!, b!) >= 0) return { op, at };
    }
    return null;
  } finally {
    before!.dispose();
    after!.dispose();
  }
}

function isComparable(a: Tensor, b: Tensor): boolean {
  return a.dtype === b.dtype && a.shape.join() === b.shape.join();
}

function record(
  source: CompiledFrom,
  count: number,
  scenario: Scenario,
  call: BackwardCall | null,
): Recorder {
  const recorder = new Recorder();
  withWatcher(recorder, () => {
    const { donate } = optionsWith(source, count).memory;
    disposeOutcome(repeat(variantOf(source, count), scenario, call, donate));
  });
  return recorder;
}
