import type { TensorMeta } from '../device/tensor-meta.ts';
import type { Step } from '../program/plan.ts';
import type { ProgramOp, ValueTable } from '../program/program.ts';
import { writtenOperands } from '../program/writes.ts';
import type { Action } from './scope/action.ts';
import type { Slot } from './scope/scope.ts';

/** Observes every value of a run right after the op that computed it, before anything is freed. */
export interface Watcher {
  /** Called when a control op begins to run its regions. */
  begin(op: ProgramOp): void;
  end(): void;
  value(op: ProgramOp, id: number, meta: TensorMeta, slot: Slot): void;
}

/** The watcher that programs are currently bound with. Programs bound without a watcher have no overhead. */
const watching: { current: Watcher | null } = { current: null };

/** Binds programs with a watcher, including those bound lazily in its runs. */
export function withWatcher<T>(watcher: Watcher, body: () => T): T {
  const outer = watching.current;
  watching.current = watcher;
  try {
    return body();
  } finally {
    watching.current = outer;
  }
}

/** Returns a step's action that reports its values to the watcher current at binding. */
export function watched({ op }: Step, values: ValueTable, run: Action): Action {
  const watcher = watching.current;
  if (!watcher) return run;
  const isControl = op.op.kernel.kind === 'control';
  const written = isControl ? [] : writtenOperands(op).map((operand) => op.inputs[operand]!);
  const ids = [...op.outputs, ...written];
  return (slots, scalars) => {
    if (isControl) watcher.begin(op);
    try {
      run(slots, scalars);
    } finally {
      if (isControl) watcher.end();
    }
    for (const id of ids) {
      const slot = slots[id]!;
      if (slot.holder) watcher.value(op, id, values[id]!, slot);
    }
  };
}
